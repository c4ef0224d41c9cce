"""Images through Pillow: whatever is not a plain JPEG for the native kernel.

The bytes are sniffed, the extension is not believed. Everything becomes RGB as Pillow converts it; limits are checked
on the header, before memory for pixels is taken.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from headrace._base.units import count
from headrace.contracts import RAISE_LIMITS, Exif, ImageLimits
from headrace.errors import CorruptImageError, DecodeError, ImageLimitError, UnsupportedImageError, WriteError

REFUSED_FORMATS = frozenset({"EPS"})
"""Pillow hands these to an external program (Ghostscript); bytes that lie about their name must not start one."""

START_OF_SCAN = b"\xff\xda"
"""JPEG marker before each scan. Inside entropy-coded data 0xff is always followed by 0x00 or a restart marker, so
counting these bytes never counts too few."""

SIGNATURES = {b"\xff\xd8\xff": "JPEG", b"\x89PNG\r\n\x1a\n": "PNG", b"GIF8": "GIF"}
"""First bytes of common formats, to tell a damaged header from something that never was an image."""

FORMAT_OF_EXTENSION = {
    "avif": "AVIF",
    "bmp": "BMP",
    "gif": "GIF",
    "jfif": "JPEG",
    "jp2": "JPEG2000",
    "jpe": "JPEG",
    "jpeg": "JPEG",
    "jpg": "JPEG",
    "pbm": "PPM",
    "pgm": "PPM",
    "png": "PNG",
    "pnm": "PPM",
    "ppm": "PPM",
    "tga": "TGA",
    "tif": "TIFF",
    "tiff": "TIFF",
    "webp": "WEBP",
}
"""Extensions taken as images, and the Pillow format that each is written in."""

ENCODER_OPTIONS: dict[str, dict[str, Any]] = {
    "JPEG": {"quality": 95},
    "WEBP": {"lossless": True},
    "AVIF": {"quality": 95},
}
"""Where Pillow's own default would lose more than a training set should."""

BOMBS = (Image.DecompressionBombError, Image.DecompressionBombWarning)
"""What Pillow raises beyond its own limit; the warning where warnings are errors."""

SNIFFED_BYTES = 16
"""What Pillow's plugins tell a format by."""

MASK_AXES = 2
"""Height and width."""


def decode_image(data: bytes | memoryview, limits: ImageLimits | None = None, exif: Exif = "ignore") -> Image.Image:
    """Decodes an image of any format that Pillow knows.

    Args:
        data: The encoded bytes; the format is found from them.
        limits: Checked on the header, before pixels are allocated; the defaults of `ImageLimits` if None.
        exif: `apply` turns the pixels as the EXIF orientation says, `ignore` leaves them as they are stored.

    Returns:
        A loaded image of mode RGB, the first frame where there are several.

    Raises:
        UnsupportedImageError: No decoder knows the bytes.
        CorruptImageError: The image is damaged or cut short.
        ImageLimitError: The header asks for more than the limits allow.
    """
    limits = limits or ImageLimits()
    image = open_header(data, limits)
    check_limits(image, data, limits)
    try:
        image.load()
        if exif == "apply":
            image = ImageOps.exif_transpose(image)
        return to_rgb(image)
    except BOMBS as error:
        raise over_pillow_limit(image, error) from error
    except Exception as error:  # Pillow's plugins raise any kind on damaged bytes
        raise CorruptImageError(
            f"this {image.format} image is damaged or cut short: {error}", got=count(len(data), "byte")
        ) from error


def open_header(data: bytes | memoryview, limits: ImageLimits) -> Image.Image:
    """Finds the format and reads the header; no pixels are decoded."""
    Image.init()
    formats = [name for name in Image.ID if name not in REFUSED_FORMATS]
    try:
        return Image.open(io.BytesIO(data), formats=formats)
    except UnidentifiedImageError as error:
        raise unidentified(bytes(data[:16]), len(data)) from error
    except BOMBS as error:
        image = header_beyond_pillow(data, formats)
        if image is not None and image.width * image.height > limits.pixels:
            raise over_pixel_limit(image, limits) from error
        raise over_pillow_limit(image, error) from error
    except Exception as error:  # Pillow's plugins raise any kind on damaged bytes
        raise CorruptImageError(f"the image header is damaged: {error}", got=count(len(data), "byte")) from error


def header_beyond_pillow(data: bytes | memoryview, formats: Sequence[str]) -> Image.Image | None:
    """The header of an image that `Image.open` refuses for its size; None where nobody reads it."""
    head = bytes(data[:SNIFFED_BYTES])
    for name in formats:
        factory, accepts = Image.OPEN[name]
        with contextlib.suppress(Exception):  # as other plugins than the right one raise on its bytes
            if accepts is None or accepts(head) is True:
                return factory(io.BytesIO(data), "")
    return None


def unidentified(head: bytes, size_bytes: int) -> DecodeError:
    """The error of bytes that no decoder takes: a damaged header of a format that we know, or no image at all."""
    for signature, name in SIGNATURES.items():
        if head.startswith(signature):
            return CorruptImageError(f"the header of this {name} image is damaged", got=count(size_bytes, "byte"))
    return UnsupportedImageError(
        "these bytes are no image that Pillow knows",
        got=f"{count(size_bytes, 'byte')} beginning with {head!r}" if size_bytes else "0 bytes",
        remedy="Check that the field really is an image, and that it was written whole.",
    )


def check_limits(image: Image.Image, data: bytes | memoryview, limits: ImageLimits) -> None:
    """Refuses by the header what would take too much memory or time."""
    if image.width * image.height > limits.pixels:
        raise over_pixel_limit(image, limits)
    if image.format in ("JPEG", "MPO") and "progressive" in image.info:
        num_scans = bytes(data).count(START_OF_SCAN)
        if num_scans > limits.scans:
            raise ImageLimitError(
                "a progressive JPEG of too many scans",
                got=count(num_scans, "scan"),
                accepted=f"at most {limits.scans} (the `scans` limit)",
                remedy=RAISE_LIMITS,
            )


def over_pixel_limit(image: Image.Image, limits: ImageLimits) -> ImageLimitError:
    """The error of an image whose header claims too many pixels."""
    return ImageLimitError(
        "an image of too many pixels was refused before memory was taken for it",
        got=size_text(image),
        accepted=f"at most {limits.pixels} (the `pixels` limit)",
        remedy=RAISE_LIMITS,
    )


def over_pillow_limit(image: Image.Image | None, error: Exception) -> ImageLimitError:
    """The error of an image that our limit lets through and Pillow's does not."""
    most = Image.MAX_IMAGE_PIXELS or 0
    pillow = f"{most} (PIL.Image.MAX_IMAGE_PIXELS, since warnings are errors)"
    if isinstance(error, Image.DecompressionBombError):
        pillow = f"{2 * most} (twice PIL.Image.MAX_IMAGE_PIXELS)"
    return ImageLimitError(
        "an image that Pillow has to decode has more pixels than it accepts",
        got="a size that is not known" if image is None else size_text(image),
        accepted=f"at most {pillow}",
        remedy="If the image is real, set PIL.Image.MAX_IMAGE_PIXELS to a higher number where it is decoded: in the "
        "training script, and with worker processes in worker_init_fn too",
    )


def size_text(image: Image.Image) -> str:
    """Width, height and their product."""
    return f"{image.width} x {image.height} = {image.width * image.height} pixels"


def to_rgb(image: Image.Image) -> Image.Image:
    """RGB as `Image.convert` makes it.

    The transparency entry of a palette image is taken out first: converting to RGB drops it either way, and Pillow
    warns about it for each image.
    """
    if image.mode == "RGB":
        return image
    image.info.pop("transparency", None)
    return image.convert("RGB")


def as_pixels(value: Any) -> npt.NDArray[Any]:
    """An array as Pillow takes it: integers of a mask as uint8, those of uint16 as they are.

    Raises:
        ValueError: Integers of another type that 8 bits do not hold.
    """
    array = np.asarray(value)
    is_mask = array.ndim == MASK_AXES and array.dtype.kind in "iu" and array.size > 0
    if not is_mask or array.dtype in (np.uint8, np.uint16):
        return array
    if array.min() < 0 or array.max() > np.iinfo(np.uint8).max:
        raise ValueError(
            f"{array.dtype} from {array.min()} to {array.max()} does not fit into 8 bits; uint16 is written in 16"
        )
    return array.astype(np.uint8)


def encode_image(extension: str, value: Any) -> bytes:
    """Writes a PIL image, uint8 pixels of shape (H, W) or (H, W, 3 or 4), or a mask, in the format of the extension.

    A mask is an array or tensor of integers of shape (H, W). It is written with 8 bits, of uint16 with 16, so that it
    reads back with the same values; not every format has 16.

    JPEG and AVIF are written at quality 95, WebP without loss, everything else as Pillow does by default.

    Raises:
        WriteError: The value is no image, or its mode does not fit the format.
    """
    name = FORMAT_OF_EXTENSION[extension]
    try:
        image = value if isinstance(value, Image.Image) else Image.fromarray(as_pixels(value))
        buffer = io.BytesIO()
        image.save(buffer, name, **ENCODER_OPTIONS.get(name, {}))
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise WriteError(
            f"this value cannot be written as {name}: {error}",
            got=type(value).__name__,
            accepted="a PIL image, uint8 pixels of shape (H, W) or (H, W, 3), integers of a mask, or the encoded bytes",
            field=extension,
        ) from error
    return buffer.getvalue()
