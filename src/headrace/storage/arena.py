"""Many ranges, or many whole files, in one native call and one piece of memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace import _native
from headrace.contracts import U64, Allocate
from headrace.storage.gather import gather

ENDED_EARLY = -1
"""Code of a range whose file ended before it did; codes above 0 are values of `errno`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArenaRead:
    """Bytes in one arena."""

    arena: npt.NDArray[Any]
    """Keeps the bytes alive."""
    addresses: U64
    """Address of the first byte of each range, shape (ranges,)."""
    sizes: U64
    """Bytes of each range, shape (ranges,)."""
    codes: npt.NDArray[np.int32]
    """0 where the range was read, else an `errno` or `ENDED_EARLY`, shape (ranges,)."""


def read_ranges(fds: npt.NDArray[np.int32], offsets: U64, sizes: U64, allocate: Allocate) -> ArenaRead:
    """Reads ranges of open files, neighbours together; the GIL is released while it reads.

    Args:
        fds: File of each range, shape (ranges,).
        offsets: First byte of each range in its file, shape (ranges,).
        sizes: Bytes of each range, shape (ranges,).
        allocate: Where the arena comes from.
    """
    plan = gather(fds, offsets, sizes)
    arena = allocate((plan.size_bytes,), np.uint8)
    base = np.uint64(arena.ctypes.data)
    codes = _native.read_ranges(plan.fds, plan.offsets, plan.sizes, base + plan.places)
    return ArenaRead(arena=arena, addresses=base + plan.range_places, sizes=sizes, codes=codes[plan.read_of_range])


def read_files(paths: Sequence[bytes], allocate: Allocate) -> ArenaRead:
    """Reads whole files: opened, read and closed natively, with the GIL released."""
    fds, sizes, errors = _native.open_files(paths)
    try:
        ends = np.cumsum(sizes, dtype=np.uint64)
        arena = allocate((int(ends[-1]) if len(ends) else 0,), np.uint8)
        addresses = np.uint64(arena.ctypes.data) + ends - sizes
        if errors.any():
            return ArenaRead(arena=arena, addresses=addresses, sizes=sizes, codes=errors)
        codes = _native.read_ranges(fds, np.zeros(len(fds), dtype=np.uint64), sizes, addresses)
    finally:
        _native.close_files(fds)
    return ArenaRead(arena=arena, addresses=addresses, sizes=sizes, codes=codes)
