"""Many ranges, or many whole files, in one native call and one piece of memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace import _native
from headrace.contracts import I32, U64, Allocate

ENDED_EARLY = -1
"""Code of a range whose file ended before it did; codes above 0 are values of `errno`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaRead:
    """Bytes in one arena."""

    arena: npt.NDArray[Any]
    """Keeps the bytes alive."""
    addresses: U64
    """Address of the first byte of each range, in the shape of the ranges; 0 where there is none."""
    sizes: U64
    """Bytes of each range, same shape."""
    failed: Mapping[int, int]
    """An `errno` or `ENDED_EARLY` for each range that could not be read, by its place in the flattened ranges."""


def read_ranges(fds: I32, offsets: U64, sizes: U64, allocate: Allocate) -> ArenaRead:
    """Reads ranges of open files, neighbours together; the GIL is released while it reads.

    Args:
        fds: File of each range, shape (fields, rows); below 0 where there is no range.
        offsets: First byte of each range in its file, same shape.
        sizes: Bytes of each range, same shape.
        allocate: Where the arena comes from.
    """
    plan = _native.ReadPlan(fds, offsets, sizes)
    arena = allocate((plan.size_bytes,), np.uint8)
    addresses, failed = plan.read(arena)
    return ArenaRead(arena=arena, addresses=addresses, sizes=sizes, failed=failed)


def read_files(paths: Sequence[bytes], allocate: Allocate) -> ArenaRead:
    """Reads whole files: opened, read and closed natively, with the GIL released. All arrays have shape (files,)."""
    fds, sizes, codes = _native.open_files(paths)
    try:
        ends = np.cumsum(sizes, dtype=np.uint64)
        arena = allocate((int(ends[-1]) if len(ends) else 0,), np.uint8)
        addresses = np.uint64(arena.ctypes.data) + ends - sizes
        if not codes.any():
            codes = _native.read_ranges(fds, np.zeros(len(fds), dtype=np.uint64), sizes, addresses)
    finally:
        _native.close_files(fds)
    failed = {row: int(codes[row]) for row in np.flatnonzero(codes).tolist()}
    return ArenaRead(arena=arena, addresses=addresses, sizes=sizes, failed=failed)
