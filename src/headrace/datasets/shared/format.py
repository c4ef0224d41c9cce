"""How a block is laid out.

It begins with 16 bytes that say what it is, 16 random bytes of its own (its token), and the size of the JSON that
follows: the schema of its column, its number of rows, and type, shape and place of each array. The arrays come after
it, each at a multiple of 64 bytes.
"""

from __future__ import annotations

import json
import os
import struct
from dataclasses import dataclass

from headrace.datasets.shared.packed import Packed, Schema

MAGIC = b"headrace block 1"
START = struct.Struct("<16s16sQ")
LEAST_BYTES = START.size
ALIGNMENT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrayPlace:
    """Where an array lies in a block."""

    dtype: str
    shape: tuple[int, ...]
    offset: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """What a block says of itself."""

    token: bytes
    schema: Schema
    num_rows: int
    arrays: tuple[ArrayPlace, ...]


def write_block(fd: int, packed: Packed, token: bytes) -> None:
    """Writes a block from the beginning of an empty file; the pieces of `packed` are used up.

    Raises:
        OSError: No space, or no memory.
    """
    places = [
        {"dtype": array.dtype.str, "shape": list(array.shape), "size": array.size_bytes} for array in packed.arrays
    ]
    text = json.dumps({"schema": packed.schema, "num_rows": packed.num_rows, "arrays": places}).encode()
    write_all(fd, memoryview(START.pack(MAGIC, token, len(text)) + text))
    position = START.size + len(text)
    for array in packed.arrays:
        position = aligned(position)
        os.lseek(fd, position, os.SEEK_SET)
        for view in array.drained():
            write_all(fd, view)
        position += array.size_bytes
    os.ftruncate(fd, position)


def read_header(block: memoryview) -> Header:
    """What a block says of itself.

    Args:
        block: Its bytes, `LEAST_BYTES` of them at least.

    Raises:
        PermissionError: It is no block of this version of the format.
    """
    magic, token, size = START.unpack_from(block)
    if magic != MAGIC:
        raise PermissionError("what is found there is no block")
    facts = json.loads(bytes(block[START.size : START.size + size]))
    position, arrays = START.size + size, []
    for array in facts["arrays"]:
        position = aligned(position)
        arrays.append(ArrayPlace(dtype=array["dtype"], shape=tuple(array["shape"]), offset=position))
        position += array["size"]
    return Header(token=token, schema=facts["schema"], num_rows=facts["num_rows"], arrays=tuple(arrays))


def aligned(position: int) -> int:
    """The next place where an array may begin."""
    return -(-position // ALIGNMENT) * ALIGNMENT


def write_all(fd: int, view: memoryview) -> None:
    """Writes all of a view, however often the system takes only a part of it."""
    while view:
        view = view[os.write(fd, view) :]
