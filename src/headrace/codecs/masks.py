"""Masks: images whose pixels are numbers of classes or objects, not colours.

They come out with the values that `numpy.asarray(PIL.Image.open(...))` has: a palette image is its indices, whatever
colours and transparency the palette gives them. Nothing is converted to RGB or scaled.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from headrace._base.units import count
from headrace.codecs.images import BOMBS, check_limits, open_header, over_pillow_limit
from headrace.codecs.plain_png import decode_plain_png
from headrace.contracts import ImageLimits
from headrace.errors import CorruptImageError, DecodeError

FORMATS = ("BMP", "GIF", "PNG", "TIFF")
"""Formats that keep values. JPEG, WebP and AVIF may change them, PPM scales them to its largest one."""

LOSSY_COMPRESSION = frozenset({"jpeg", "tiff_jpeg", "webp"})
"""Compressions inside of TIFF that may change values."""

DTYPES = {"1": np.uint8, "L": np.uint8, "P": np.uint8, "I": np.int32, "I;16": np.int32, "I;16B": np.int32}
"""Pillow modes of one integer a pixel, and what they are delivered as. torch's uint16 lacks most operations."""


def decode_mask(data: bytes | memoryview, limits: ImageLimits | None = None) -> npt.NDArray[np.uint8 | np.int32]:
    """Decodes an image of one integer a pixel.

    Args:
        data: The encoded bytes; the format is found from them.
        limits: Checked on the header, before pixels are allocated; the defaults of `ImageLimits` if None.

    Returns:
        Shape (H, W): uint8 of 8 bits, palettes and single bits (0 and 1), int32 of 16 and 32 bits. The first frame
        where there are several.

    Raises:
        DecodeError: Another format, or more than one number a pixel.
        CorruptImageError: The image is damaged or cut short.
        ImageLimitError: The header asks for more than the limits allow.
    """
    limits = limits or ImageLimits()
    plain = decode_plain_png(bytes(data), limits.pixels)
    return through_pillow(data, limits) if plain is None else plain


def through_pillow(data: bytes | memoryview, limits: ImageLimits) -> npt.NDArray[np.uint8 | np.int32]:
    """The same of every format, and of damaged files; the reference of the way around Pillow."""
    image = open_header(data, limits)
    check_format(image)
    check_limits(image, data, limits)
    try:
        image.load()
    except BOMBS as error:
        raise over_pillow_limit(image, error) from error
    except Exception as error:  # Pillow's plugins raise any kind on damaged bytes
        raise CorruptImageError(
            f"this {image.format} mask is damaged or cut short: {error}", got=count(len(data), "byte")
        ) from error
    return np.array(image, dtype=DTYPES[image.mode])


def check_format(image: Image.Image) -> None:
    """Refuses formats that change values, and images that are no masks.

    Raises:
        DecodeError: One of them.
    """
    packed: Any = image.info.get("compression")
    if image.format not in FORMATS or packed in LOSSY_COMPRESSION:
        raise DecodeError(
            "a mask is kept in a format that may change its values",
            got=f"{image.format} compressed as {packed}" if image.format in FORMATS else image.format,
            accepted=", ".join(FORMATS),
            remedy="Write it as PNG; or read it with kind='image' and threshold it in a transform",
        )
    if image.mode not in DTYPES:
        raise DecodeError(
            "a mask holds more than one integer a pixel",
            got=f"{image.format} of mode {image.mode}",
            accepted="grey levels of 1, 8, 16 or 32 bits, or a palette",
            remedy="Read it with kind='image' and turn its colours into numbers in a transform",
        )
