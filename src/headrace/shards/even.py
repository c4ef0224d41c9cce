"""How many samples go into each shard, so that the shards are even."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.contracts import I64


def even_counts(num_samples: int, samples_per_shard: int) -> I64:
    """Samples of each shard, at most `samples_per_shard`, in as few shards as possible; they differ by one at most."""
    num_shards = -(-num_samples // samples_per_shard)
    bounds = np.arange(num_shards + 1, dtype=np.int64) * num_samples // max(1, num_shards)
    return np.diff(bounds)


def even_cuts(sizes: I64, shard_size_bytes: int) -> I64:
    """Samples of each shard, in order, so that no two shards differ in size by more than the largest sample.

    Args:
        sizes: Bytes that each sample takes in a shard, headers and padding included, shape (samples,).
        shard_size_bytes: Mean size aimed at: the number of shards is the total over it, rounded up.

    That such cuts exist for any sizes is a theorem of Bárány and Grinberg (2015, "Block partitions of sequences").
    They are found by looking for the largest lower bound `a` for which blocks of sizes in [a, a + largest] reach the
    end: the positions that j such blocks can reach are one run, so two numbers describe them.
    """
    if len(sizes) == 0:
        return np.zeros(0, dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    num_shards = min(len(sizes), max(1, -(-int(ends[-1]) // shard_size_bytes)))
    low, high = 0, int(ends[-1]) // num_shards
    while low < high:
        middle = (low + high + 1) // 2
        if reach(ends, num_shards, middle, int(sizes.max())).can_end:
            low = middle
        else:
            high = middle - 1
    counts = np.diff(walk_back(ends, reach(ends, num_shards, low, int(sizes.max()))))
    return counts[counts > 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """Positions (samples taken) that 0, 1, 2, ... blocks of allowed sizes can end at: from `first` to `last`."""

    first: list[int]
    last: list[int]
    smallest: int
    """Least size of a block."""
    spread: int
    """By how much a block may be larger."""
    can_end: bool
    """Whether the least positions stay within the samples there are."""


def reach(ends: I64, num_shards: int, smallest: int, spread: int) -> Reach:
    """What can be reached with blocks of sizes in [smallest, smallest + spread]; `ends` are running sums from 0."""
    first, last = [0], [0]
    for _ in range(num_shards):
        first.append(int(np.searchsorted(ends, ends[first[-1]] + smallest)))
        last.append(int(np.searchsorted(ends, ends[last[-1]] + smallest + spread, side="right")) - 1)
        if first[-1] >= len(ends):
            return Reach(first=first, last=last, smallest=smallest, spread=spread, can_end=False)
    return Reach(first=first, last=last, smallest=smallest, spread=spread, can_end=True)


def walk_back(ends: I64, reached: Reach) -> I64:
    """Cuts from 0 to the end: each as near to an equal share as the block after it allows."""
    num_shards = len(reached.first) - 1
    cuts = [len(ends) - 1]
    for shard in range(num_shards - 1, -1, -1):
        end = int(ends[cuts[-1]])
        low = int(np.searchsorted(ends, end - reached.smallest - reached.spread))
        high = int(np.searchsorted(ends, end - reached.smallest, side="right")) - 1
        nearest = int(np.searchsorted(ends, int(ends[-1]) * shard // num_shards))
        cuts.append(min(max(nearest, low, reached.first[shard]), high, reached.last[shard]))
    return np.array(cuts[::-1], dtype=np.int64)
