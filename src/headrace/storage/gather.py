"""The reads that cover ranges of open files, in numpy: what `_native.ReadPlan` does, and is held equal to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace.contracts import I64, U64

MOST_GAP_BYTES = 4096
"""Ranges with no more between them are read together (`kMostGap` of native/io/plan.h says why)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathering:
    """Reads that cover ranges, and the place of each range in the arena."""

    fds: npt.NDArray[np.int32]
    """File of each read, shape (reads,)."""
    offsets: U64
    """First byte of each read in its file, shape (reads,)."""
    sizes: U64
    """Bytes of each read, shape (reads,)."""
    places: U64
    """Where each read begins in the arena, shape (reads,)."""
    range_places: U64
    """Where each range begins in the arena, shape (ranges,)."""
    read_of_range: I64
    """The read that covers each range, shape (ranges,)."""
    size_bytes: int
    """Size of the arena."""


def gather(fds: npt.NDArray[np.int32], offsets: U64, sizes: U64) -> Gathering:
    """Plans the reads of some ranges.

    Args:
        fds: File of each range, shape (ranges,).
        offsets: First byte of each range in its file, shape (ranges,); below 2^63.
        sizes: Bytes of each range, shape (ranges,); below 2^63.
    """
    order = np.lexsort((offsets, fds))
    files, starts = fds[order], offsets[order].astype(np.int64)
    ends = starts + sizes[order].astype(np.int64)
    first = np.ones(len(order), dtype=np.bool_)
    first[1:] = (files[1:] != files[:-1]) | (starts[1:] - ends[:-1] > MOST_GAP_BYTES)
    heads = np.flatnonzero(first)
    begin = starts[heads]
    length = np.maximum.reduceat(ends, heads) - begin if len(heads) else begin
    places = np.cumsum(length) - length
    read = np.cumsum(first) - 1
    range_places, read_of_range = np.empty_like(starts), np.empty_like(read)
    range_places[order] = places[read] + starts - begin[read]
    read_of_range[order] = read
    return Gathering(
        fds=files[heads],
        offsets=begin.astype(np.uint64),
        sizes=length.astype(np.uint64),
        places=places.astype(np.uint64),
        range_places=range_places.astype(np.uint64),
        read_of_range=read_of_range,
        size_bytes=int(length.sum()),
    )
