"""Samples laid in a line, stretch after stretch: each stretch is a run of consecutive sample ids."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from headrace.contracts import I64


class Stretches(NamedTuple):
    """Runs of consecutive sample ids, each within one shard."""

    first_ids: I64
    """First sample id of each run, shape (runs,)."""
    counts: I64
    """Samples of each run, above 0, shape (runs,)."""


class Line:
    """Stretches one after another.

    Args:
        first_ids: First sample id of each stretch, shape (stretches,).
        counts: Samples of each stretch, shape (stretches,); may be 0.
    """

    def __init__(self, first_ids: I64, counts: I64) -> None:
        self._first_ids = first_ids
        self._counts = counts
        self._ends = np.cumsum(counts)

    def between(self, begin: int, end: int) -> Stretches:
        """The stretches of positions [begin, end), those at the borders cut. Empty ones make none."""
        low = int(np.searchsorted(self._ends, begin, side="right"))
        high = int(np.searchsorted(self._ends, end, side="left")) + 1
        ends, counts = self._ends[low:high], self._counts[low:high]
        starts = ends - counts
        cut = np.maximum(begin - starts, 0)
        counts = np.minimum(ends, end) - starts - cut
        filled = counts > 0
        return Stretches((self._first_ids[low:high] + cut)[filled], counts[filled])

    def at(self, positions: I64) -> I64:
        """Sample ids at these positions, shape (positions,)."""
        stretches = np.searchsorted(self._ends, positions, side="right")
        return self._first_ids[stretches] + (positions - (self._ends - self._counts)[stretches])
