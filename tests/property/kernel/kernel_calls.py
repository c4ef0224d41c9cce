"""Short ways to call the native kernel from tests."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image

from headrace import _native


def encode(image: Image.Image, **options: Any) -> bytes:
    file = io.BytesIO()
    image.save(file, "JPEG", **options)
    return file.getvalue()


def rgb(jpeg: bytes) -> Image.Image:
    """The reference: a full decode by Pillow."""
    return Image.open(io.BytesIO(jpeg)).convert("RGB")


def spans(files: Sequence[bytes]) -> tuple[list[Any], Any, Any]:
    """(what keeps the bytes alive, addresses, sizes)."""
    arrays = [np.frombuffer(file, np.uint8) for file in files]
    addresses = np.array([array.ctypes.data for array in arrays], np.uint64)
    return arrays, addresses, np.array([array.size for array in arrays], np.uint64)


def run(
    pool: _native.Pool,
    geometry: _native.Geometry,
    files: Sequence[bytes],
    height: int,
    width: int,
    keys: Any = None,
    **options: Any,
) -> tuple[Any, _native.BatchReport]:
    """The pixels, (files, height, width, 3), and the report."""
    kept, addresses, sizes = spans(files)
    keys = np.arange(len(files), dtype=np.uint64) if keys is None else keys
    out = np.full((len(files), height, width, 3), 77, np.uint8)
    rows = np.arange(len(files))
    report = _native.run_jpegs(pool, geometry, addresses, sizes, keys, out, rows, channels_last=True, **options)
    del kept
    return out, report


def reference(image: Image.Image, params: Any, height: int, width: int, resample: int = 2) -> Any:
    """Crop, resize and flip by Pillow, as the parameters of a row say."""
    top, left, box_height, box_width, flip = (int(value) for value in params[2:7])
    result = image.crop((left, top, left + box_width, top + box_height)).resize((width, height), resample)
    return np.asarray(result.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flip else result)
