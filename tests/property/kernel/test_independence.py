"""What becomes of an image depends on its own bytes, never on what the decoder saw before."""

import io

import numpy as np
import pytest
from PIL import Image

from headrace import _native

QUANTISATION, HUFFMAN, SCAN = 0xDB, 0xC4, 0xDA


def photograph(seed: int, quality: int, **options: object) -> bytes:
    pixels = np.random.default_rng(seed).integers(0, 256, (60, 45, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG", quality=quality, **options)
    return file.getvalue()


def without_segments(jpeg: bytes, marker: int) -> bytes:
    kept, at = jpeg[:2], 2
    while jpeg[at + 1] != SCAN:
        end = at + 2 + int.from_bytes(jpeg[at + 2 : at + 4], "big")
        if jpeg[at + 1] != marker:
            kept += jpeg[at:end]
        at = end
    return kept + jpeg[at:]


def decode(pool: _native.Pool, jpeg: bytes) -> tuple[int, bytes | None]:
    address = np.frombuffer(jpeg, np.uint8).ctypes.data
    images, report = _native.decode_full(pool, np.array([address], np.uint64), np.array([len(jpeg)], np.uint64))
    return int(report.status[0]), None if images[0] is None else images[0].tobytes()


@pytest.mark.parametrize("before", [{"quality": 90}, {"quality": 20}, {"quality": 50, "progressive": True}])
@pytest.mark.parametrize("marker", [QUANTISATION, HUFFMAN])
def test_tables_of_the_image_before_are_forgotten(marker: int, before: dict[str, int]) -> None:
    """libjpeg keeps the tables of a decoder's last image; a file without its own would be decoded with them."""
    bare = without_segments(photograph(1, 90, optimize=True), marker)
    pool = _native.Pool(0)
    alone = decode(pool, bare)
    decode(pool, photograph(2, **before))
    assert decode(pool, bare) == alone


def test_image_without_quantisation_tables_is_corrupt() -> None:
    bare = without_segments(photograph(1, 90), QUANTISATION)
    with pytest.raises(OSError, match="broken data stream"):
        Image.open(io.BytesIO(bare)).load()
    pool = _native.Pool(0)
    decode(pool, photograph(2, 90))
    assert decode(pool, bare) == (_native.CORRUPT, None)
