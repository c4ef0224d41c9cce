"""Many ranges, or many whole files, in one native call and one piece of memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace import _native
from headrace.contracts import I32, I64, U64, Allocate

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


def read_files(paths: bytes, ends: I64, files: I64, allocate: Allocate) -> ArenaRead:
    """Reads whole files: opened, read and closed natively, with the GIL released.

    Args:
        paths: The paths of all files, one after another.
        ends: Where each of them ends, shape (paths,).
        files: Which of them are read, shape (rows,).
        allocate: Where the arena comes from.

    Returns:
        Arrays of shape (rows,); where a file could not be opened nothing was read.
    """
    opened = _native.WholeFiles(paths, ends, files)
    arena = allocate((opened.size_bytes,), np.uint8)
    addresses, sizes, failed = opened.read(arena)
    return ArenaRead(arena=arena, addresses=addresses, sizes=sizes, failed=failed)
