"""Windows of a canonical node's share: how large they are, and the permutation of the samples in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace._base.distinct import distinct
from headrace._base.hashing import fold
from headrace.contracts import I64, Layout
from headrace.order.keys import window_keys
from headrace.order.permutation import STORED_BELOW, permutation
from headrace.order.recent import Recent

WINDOW_BYTES = 2 << 30
"""A window covers this much by default: enough that samples of many shards mix, small enough that two windows fit
the page cache of any machine that trains."""

WINDOW_SHARDS = 4
"""A window covers at least this many shards by default, so that large shards mix too."""

GROUP_SAMPLES = 8192
"""Small windows are computed together, about this many samples at a time."""


def default_window_samples(layout: Layout) -> int:
    """Samples in the shards that make up 2 GiB, in four shards at least, in all of them if there are fewer.

    A function of the dataset index alone, by mean sizes, so that it is the same on every machine.
    """
    num_shards, num_samples = len(layout.samples), int(layout.samples.sum())
    size_bytes = int(layout.sizes.sum())
    by_size = -(-WINDOW_BYTES * num_shards // size_bytes) if size_bytes else num_shards
    covered = min(num_shards, max(WINDOW_SHARDS, by_size))
    return max(1, -(-covered * num_samples // max(1, num_shards)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """Cuts [0, length) into windows that are equal within one sample, the longer ones first.

    Each holds `at_least` samples or more, and less than twice as many; a shorter `length` is one window.
    """

    length: int
    at_least: int

    @property
    def num(self) -> int:
        """Number of windows."""
        return max(1, self.length // self.at_least)

    @property
    def largest(self) -> int:
        """Samples in the largest window."""
        return -(-self.length // self.num)

    def index(self, positions: I64) -> I64:
        """Window of each position, shape (positions,)."""
        size, num_longer = divmod(self.length, self.num)
        border = num_longer * (size + 1)
        return np.where(
            positions < border, positions // (size + 1), num_longer + (positions - border) // max(1, size)
        ).astype(np.int64)

    def number(self, position: int) -> int:
        """Window of one position: `index` in plain integers, which are quicker than an array of one."""
        size, num_longer = divmod(self.length, self.num)
        border = num_longer * (size + 1)
        return position // (size + 1) if position < border else num_longer + (position - border) // max(1, size)

    def start(self, windows: I64) -> I64:
        """First position of each window, shape (windows,); the end for the number of windows."""
        size, num_longer = divmod(self.length, self.num)
        return windows * size + np.minimum(windows, num_longer)


class WindowShuffle:
    """Permutes each window of a node's share by a key of its own, at any position.

    Args:
        windows: The cut.
        seed: Seed of the order.
        epoch: Epoch.
        node: Canonical node.
    """

    def __init__(self, windows: Windows, seed: int, epoch: int, node: int) -> None:
        self._windows = windows
        self._where = (seed, epoch, node)
        self._group = max(1, GROUP_SAMPLES // max(1, windows.largest))
        self._tables = Recent(self._make_table, num_kept=2)

    def at(self, positions: I64) -> I64:
        """Shuffled positions, shape (positions,)."""
        stored = self._windows.largest < STORED_BELOW
        return self._at_small(positions) if stored else self._at_large(positions)

    def _at_large(self, positions: I64) -> I64:
        """Windows of 2^16 samples and more: a computed permutation each."""
        windows = self._windows.index(positions)
        shuffled = np.empty_like(positions)
        for window in distinct(windows):
            rows = np.flatnonzero(windows == window)
            start, end = self._windows.start(np.array([window, window + 1], dtype=np.int64)).tolist()
            key = int(window_keys(*self._where, np.array(window, dtype=np.int64)))
            shuffled[rows] = start + permutation(end - start, key).at(positions[rows] - start)
        return shuffled

    def _at_small(self, positions: I64) -> I64:
        """Smaller windows: the stored permutations of a group of windows, kept for the next call."""
        groups = self._windows.index(positions) // self._group
        shuffled = np.empty_like(positions)
        for group in distinct(groups):
            rows = np.flatnonzero(groups == group)
            start, table = self._tables(group)
            shuffled[rows] = table[positions[rows] - start]
        return shuffled

    def _make_table(self, group: int) -> tuple[int, I64]:
        """First position of a group and the shuffled positions of its windows: all of them in one sort."""
        first = group * self._group
        windows = np.arange(first, min(first + self._group, self._windows.num) + 1, dtype=np.int64)
        starts = self._windows.start(windows)
        sizes = np.diff(starts)
        inside = np.arange(sizes.sum(), dtype=np.int64) - np.repeat(starts[:-1] - starts[0], sizes)
        hashes = fold(np.repeat(window_keys(*self._where, windows[:-1]), sizes), inside)
        order = np.lexsort((hashes, np.repeat(windows[:-1], sizes))) if len(sizes) > 1 else np.argsort(hashes)
        return int(starts[0]), starts[0] + order
