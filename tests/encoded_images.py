"""Images of every kind that training sets hold, as encoded bytes, and columns of them."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import skimage.data
from PIL import Image

from headrace.contracts import ByteColumn, InMemory


def photograph(height: int, width: int) -> Image.Image:
    """A real photograph at this size."""
    return Image.fromarray(skimage.data.astronaut()).resize((width, height), Image.Resampling.BICUBIC)


def encode(image: Image.Image, image_format: str, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, image_format, **options)
    return file.getvalue()


def adobe_cmyk(image: Image.Image) -> bytes:
    """A CMYK JPEG as Pillow writes it: inverted, with Adobe's marker."""
    return encode(image.convert("CMYK"), "JPEG", quality=92)


def with_alpha(image: Image.Image, mode: str) -> Image.Image:
    """The image with a left half that is half transparent."""
    result = image.convert(mode)
    alpha = Image.new("L", image.size, 255)
    alpha.paste(90, (0, 0, image.width // 2, image.height))
    result.putalpha(alpha)
    return result


def transparent_palette(image: Image.Image) -> bytes:
    """A palette PNG with one opacity for each colour."""
    return encode(image.quantize(64), "PNG", transparency=bytes(range(64)))


def sixteen_bits(image: Image.Image) -> bytes:
    return encode(Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 3), "PNG")


KINDS: dict[str, Callable[[Image.Image], bytes]] = {
    "jpeg 4:2:0": lambda image: encode(image, "JPEG", quality=90, subsampling=2),
    "jpeg 4:2:2": lambda image: encode(image, "JPEG", quality=80, subsampling=1),
    "jpeg 4:4:4": lambda image: encode(image, "JPEG", quality=95, subsampling=0),
    "progressive jpeg": lambda image: encode(image, "JPEG", quality=90, progressive=True),
    "grey jpeg": lambda image: encode(image.convert("L"), "JPEG", quality=90),
    "cmyk jpeg": adobe_cmyk,
    "png": lambda image: encode(image, "PNG"),
    "rgba": lambda image: encode(with_alpha(image, "RGBA"), "PNG"),
    "la": lambda image: encode(with_alpha(image, "LA"), "PNG"),
    "1-bit": lambda image: encode(image.convert("1"), "PNG"),
    "palette": lambda image: encode(image.quantize(200), "PNG"),
    "transparent palette": transparent_palette,
    "16-bit grey": sixteen_bits,
    "webp": lambda image: encode(image, "WEBP", quality=90),
}


def pillow_rgb(data: bytes) -> Image.Image:
    """The reference of every decoder: Pillow's own conversion."""
    image = Image.open(io.BytesIO(data))
    image.load()
    image.info.pop("transparency", None)  # it changes no pixel here, and Pillow warns about it
    return image.convert("RGB")


def column(files: Sequence[bytes | None]) -> ByteColumn:
    """The files as one column; None is a row that lacks the field."""
    arrays = [np.frombuffer(file or b"\0", np.uint8) for file in files]
    present = np.array([file is not None for file in files], dtype=np.bool_)
    return ByteColumn(
        place=InMemory(addresses=np.array([array.ctypes.data for array in arrays], np.uint64) * present, owner=arrays),
        sizes=np.array([array.size for array in arrays], np.uint64) * present,
        absent=np.flatnonzero(~present),
    )


def allocate(shape: Sequence[int], dtype: Any) -> Any:
    """Fresh memory with rubbish in it."""
    memory = np.empty(shape, dtype)
    memory.reshape(-1).view(np.uint8)[:] = 0xA5
    return memory
