"""The shares of the canonical nodes: which stretches of which shards belong to a node, and their order in an epoch."""

from __future__ import annotations

import numpy as np

from headrace.contracts import I64, Layout
from headrace.order.keys import deal_key, shards_key
from headrace.order.partition import Partition
from headrace.order.permutation import permutation
from headrace.order.recent import Recent
from headrace.order.windows import Windows, WindowShuffle


class Deal:
    """Deals shards to canonical nodes, by seed, the same every epoch.

    The shards are laid in a line in a random order and the line is cut into equal numbers of samples, one a node; a
    shard at a cut belongs to both nodes, each a part of it.
    """

    def __init__(self, layout: Layout, seed: int) -> None:
        num_shards = len(layout.samples)
        order = permutation(num_shards, deal_key(seed)).at(np.arange(num_shards, dtype=np.int64))
        self._counts = layout.samples[order]
        self._ends = np.cumsum(self._counts)
        self._first_ids = (np.cumsum(layout.samples) - layout.samples)[order]

    def stretches(self, begin: int, end: int) -> tuple[I64, I64]:
        """First sample id and number of samples of each stretch in [begin, end) of the line, shape (stretches,).

        Empty shards make no stretch.
        """
        low = int(np.searchsorted(self._ends, begin, side="right"))
        high = int(np.searchsorted(self._ends, end, side="left")) + 1
        ends, counts = self._ends[low:high], self._counts[low:high]
        starts = ends - counts
        cut = np.maximum(begin - starts, 0)
        counts = np.minimum(ends, end) - starts - cut
        filled = counts > 0
        return (self._first_ids[low:high] + cut)[filled], counts[filled]


class Share:
    """A canonical node's samples in one epoch: its stretches permuted, then the samples inside each window."""

    def __init__(self, first_ids: I64, counts: I64, shuffle: WindowShuffle, key: int) -> None:
        order = permutation(len(counts), key).at(np.arange(len(counts), dtype=np.int64))
        counts = counts[order]
        self._first_ids = first_ids[order]
        self._starts = np.cumsum(counts) - counts
        self._shuffle = shuffle

    def at(self, positions: I64) -> I64:
        """Sample ids at these positions of the node's sequence, shape (positions,)."""
        line = self._shuffle.at(positions)
        stretches = np.searchsorted(self._starts, line, side="right") - 1
        return self._first_ids[stretches] + (line - self._starts[stretches])


class Shares:
    """The sequences of all canonical nodes in one epoch; each is made when it is first asked for."""

    def __init__(self, layout: Layout, partition: Partition, window_samples: int, seed: int, epoch: int) -> None:
        self._deal = Deal(layout, seed)
        self._partition = partition
        self._window_samples = window_samples
        self._seed, self._epoch = seed, epoch
        self._shares = Recent(self._make_share, num_kept=partition.num_nodes)

    def at(self, node: int, positions: I64) -> I64:
        """Sample ids at these positions of the node's sequence, shape (positions,)."""
        return self._shares(node).at(positions)

    def _make_share(self, node: int) -> Share:
        begin, end = self._partition.bounds(node)
        windows = Windows(length=end - begin, at_least=self._window_samples)
        shuffle = WindowShuffle(windows, self._seed, self._epoch, node)
        return Share(*self._deal.stretches(begin, end), shuffle, shards_key(self._seed, self._epoch, node))
