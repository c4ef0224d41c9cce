"""Windows of a canonical node's share: how large they are, and the permutation of the samples in each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace._base.distinct import distinct
from headrace.contracts import I64, Layout
from headrace.order.keys import window_keys
from headrace.order.permutation import permutations

WINDOW_BYTES = 2 << 30
"""A window covers this much by default: enough that samples of many shards mix, small enough that two windows fit
the page cache of any machine that trains."""

WINDOW_SHARDS = 4
"""A window covers at least this many shards by default, so that large shards mix too."""


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

    def at(self, positions: I64) -> I64:
        """Shuffled positions, shape (positions,)."""
        windows = self._windows.index(positions)
        sizes = self._windows.start(windows + 1) - self._windows.start(windows)
        shuffled = np.empty_like(positions)
        for size in distinct(sizes):  # two at most
            rows = np.flatnonzero(sizes == size)
            shuffled[rows] = self._shuffle(positions[rows], windows[rows], size)
        return shuffled

    def _shuffle(self, positions: I64, windows: I64, size: int) -> I64:
        """Shuffled positions in windows of one size: all of them in one call, which computes what is asked for."""
        numbers = np.array(distinct(windows), dtype=np.int64)
        inside = permutations(size, window_keys(*self._where, numbers))
        starts = self._windows.start(windows)
        which = np.searchsorted(numbers, windows) if len(numbers) > 1 else 0
        return starts + inside.at(positions - starts, which)
