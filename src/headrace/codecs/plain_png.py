"""PNG images of one byte a pixel, as masks mostly are, without Pillow: in half of the time.

Pillow undoes the filters of a mask byte by byte; native code takes flat areas in blocks. Only the plain case is known
here: 8 bits of grey or palette, not interlaced, nothing unusual. Everything else, damage above all, is Pillow's, whose
verdict and error stand.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from headrace import _native

SIGNATURE = b"\x89PNG\r\n\x1a\n"
HEADER_BYTES = 13
"""Width, height, bits, colour type, compression, filter, interlace."""
MOST_BYTES_A_CHUNK = 1 << 31

PASSED_OVER = frozenset({b"bKGD", b"cHRM", b"gAMA", b"pHYs", b"sBIT", b"sRGB", b"tEXt", b"tIME"})
"""Chunks that change no pixel; `tRNS` and `PLTE` change none of the indices either."""

SIZES = {b"cHRM": 32, b"gAMA": 4, b"pHYs": 9, b"sRGB": 1, b"tIME": 7}
"""Bytes of those chunks that Pillow reads (PNG specification, third edition, section 11.3)."""

GREY, PALETTE = 0, 3


def decode_plain_png(data: bytes, max_pixels: int) -> npt.NDArray[np.uint8] | None:
    """The bytes of the pixels, shape (H, W); None where the file is anything else than plain and whole.

    Args:
        data: The file.
        max_pixels: Larger images are left to others, which refuse them.
    """
    chunks = list(chunks_of(data))
    names = [name for name, _ in chunks]
    if not is_known(names) or len(chunks[0][1]) != HEADER_BYTES:
        return None
    width, height, *kind = struct.unpack(">IIBBBBB", chunks[0][1])
    has_palette = b"PLTE" in names
    if kind not in ([8, GREY, 0, 0, 0], [8, PALETTE, 0, 0, 0]) or has_palette != (kind[1] == PALETTE):
        return None
    sizes = SIZES | ({b"tRNS": 2} if kind[1] == GREY else {})
    if any(sizes.get(name, len(body)) != len(body) for name, body in chunks):
        return None
    if not 0 < width * height <= max_pixels:
        return None
    return unpacked(b"".join(body for name, body in chunks if name == b"IDAT"), height, width)


def is_known(names: list[bytes]) -> bool:
    """Whether the chunks are all known, begin and end as they must, and those of the pixels follow each other."""
    if names.count(b"IHDR") != 1 or names[0] != b"IHDR" or names[-1] != b"IEND" or b"IDAT" not in names:
        return False
    first, num = names.index(b"IDAT"), names.count(b"IDAT")
    return names[first : first + num] == [b"IDAT"] * num and not (
        set(names[1:-1]) - PASSED_OVER - {b"IDAT", b"PLTE", b"tRNS"}
    )


def unpacked(stream: bytes, height: int, width: int) -> npt.NDArray[np.uint8] | None:
    """The pixels of a compressed stream; None where it does not hold exactly them."""
    size = height * (width + 1)
    inflate = zlib.decompressobj()
    try:
        filtered = inflate.decompress(stream, size + 1)
    except zlib.error:
        return None
    pixels = np.empty((height, width), dtype=np.uint8)
    whole = len(filtered) == size and inflate.eof and not inflate.unused_data
    return pixels if whole and _native.unfilter_png(filtered, pixels) else None


def chunks_of(data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Name and body of each chunk up to the end, whose checksums are right; nothing more behind one that is not."""
    place = len(SIGNATURE) if data.startswith(SIGNATURE) else len(data)
    while place + 12 <= len(data):
        size, name = struct.unpack_from(">I4s", data, place)
        body = data[place + 8 : place + 8 + size]
        end = place + 8 + size
        if size > MOST_BYTES_A_CHUNK or end + 4 > len(data):
            return
        if zlib.crc32(body, zlib.crc32(name)) != struct.unpack_from(">I", data, end)[0]:
            return
        yield name, body
        if name == b"IEND":
            return
        place = end + 4
