"""The shares of the canonical nodes: which stretches of which shards belong to a node, and their order in an epoch."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from headrace.contracts import I64, Layout
from headrace.order.keys import deal_key, shards_key
from headrace.order.line import Line, Stretches
from headrace.order.partition import Partition
from headrace.order.permutation import permutation
from headrace.order.recent import Recent
from headrace.order.windows import Windows, WindowShuffle


def deal(layout: Layout, seed: int) -> Line:
    """Deals shards to canonical nodes, by seed, the same every epoch.

    The shards are laid in a line in a random order and the line is cut into equal numbers of samples, one a node; a
    shard at a cut belongs to both nodes, each a part of it.
    """
    num_shards = len(layout.samples)
    order = permutation(num_shards, deal_key(seed)).at(np.arange(num_shards, dtype=np.int64))
    first_ids = np.cumsum(layout.samples) - layout.samples
    return Line(first_ids[order], layout.samples[order])


class Share:
    """A canonical node's samples in one epoch: its stretches permuted, then the samples inside each window."""

    def __init__(self, dealt: Stretches, windows: Windows, shuffle: WindowShuffle, key: int) -> None:
        order = permutation(len(dealt.counts), key).at(np.arange(len(dealt.counts), dtype=np.int64))
        self._line = Line(dealt.first_ids[order], dealt.counts[order])
        self._shuffle = shuffle
        self.windows = windows

    def at(self, positions: I64) -> I64:
        """Sample ids at these positions of the node's sequence, shape (positions,)."""
        return self._line.at(self._shuffle.at(positions))

    def window(self, number: int) -> Stretches:
        """The stretches that a window shuffles."""
        begin, end = self.windows.start(np.array([number, number + 1], dtype=np.int64))
        return self._line.between(int(begin), int(end))


class Shares:
    """The sequences of all canonical nodes in one epoch; each is made when it is first asked for."""

    def __init__(self, layout: Layout, partition: Partition, window_samples: int, seed: int, epoch: int) -> None:
        self._layout = layout
        self._partition = partition
        self._window_samples = window_samples
        self._seed, self._epoch = seed, epoch
        self._shares = Recent(self._make_share, num_kept=partition.num_nodes)

    @cached_property
    def dealt(self) -> Line:
        """The line of shards that is cut into shares; many an epoch is opened only to count its steps."""
        return deal(self._layout, self._seed)

    def at(self, node: int, positions: I64) -> I64:
        """Sample ids at these positions of the node's sequence, shape (positions,)."""
        return self.share(node).at(positions)

    def share(self, node: int) -> Share:
        """The share of a canonical node."""
        return self._shares(node)

    def _make_share(self, node: int) -> Share:
        begin, end = self._partition.bounds(node)
        windows = Windows(length=end - begin, at_least=self._window_samples)
        shuffle = WindowShuffle(windows, self._seed, self._epoch, node)
        key = shards_key(self._seed, self._epoch, node)
        return Share(self.dealt.between(begin, end), windows, shuffle, key)
