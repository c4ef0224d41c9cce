"""How many samples go into each shard, so that the shards are even."""

from __future__ import annotations

import numpy as np

from headrace.contracts import I64


def even_counts(num_samples: int, samples_per_shard: int) -> I64:
    """Samples of each shard, shape (shards,): at most `samples_per_shard`, in as few shards as that allows.

    They differ by one at most.
    """
    num_shards = -(-num_samples // samples_per_shard)
    return np.diff(np.arange(num_shards + 1, dtype=np.int64) * num_samples // max(1, num_shards))


def even_cuts(sizes: I64, shard_size_bytes: int) -> I64:
    """Samples of each shard, shape (shards,), such that the shards' sizes differ by at most one sample, the largest.

    As few shards as keep within `shard_size_bytes`; only where single samples come close to that may shards exceed
    it, by less than one sample.

    Args:
        sizes: Bytes that each sample takes in a shard, headers and padding included, shape (samples,), all positive.
        shard_size_bytes: Largest size of a shard's samples that is asked for.
    """
    if len(sizes) == 0:
        return np.zeros(0, dtype=np.int64)
    ends = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
    total, largest_sample = int(ends[-1]), int(sizes.max())
    num_shards = min(-(-total // shard_size_bytes), len(sizes))
    cuts = cut_evenly(ends, num_shards, largest_sample)
    if int(np.diff(ends[cuts]).max()) > shard_size_bytes > largest_sample:
        # The mean of these leaves room for one sample, which is the most by which a shard exceeds the mean.
        num_shards = min(-(-total // (shard_size_bytes - largest_sample)), len(sizes))
        cuts = cut_evenly(ends, num_shards, largest_sample)
    return np.diff(cuts)


def cut_evenly(ends: I64, num_shards: int, largest_sample: int) -> I64:
    """Cuts into `num_shards` parts whose sizes differ by at most the largest sample.

    Such cuts exist for every sequence (Bárány and Grinberg 2015, "Block partitions of sequences"). They are found so:
    let L be the largest bound for which cutting as soon as a part has L bytes still gives all parts. With every part
    in [L, L + largest sample], the cuts that i parts can end at are all those between two chains, the one that cuts as
    early and the one that cuts as late as it may, since a step of one sample never jumps over a window of that width.
    Going back from the end, each cut is the one nearest to the even share among those.

    Args:
        ends: Bytes before each sample and in total, shape (samples + 1,).
        num_shards: Number of parts, at most the number of samples.
        largest_sample: Size of the largest sample.
    """
    total = int(ends[-1])
    low, high = max(0, total // num_shards - largest_sample), total // num_shards
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if early_chain(ends, num_shards, middle) is not None else (low, middle - 1)
    early = early_chain(ends, num_shards, low)
    late = late_chain(ends, num_shards, low + largest_sample)
    if early is None:
        raise AssertionError("the smallest bound always gives all parts")
    cuts = np.empty(num_shards + 1, dtype=np.int64)
    cuts[-1] = len(ends) - 1
    for part in range(num_shards - 1, -1, -1):
        end = int(ends[cuts[part + 1]])
        first = max(early[part], int(np.searchsorted(ends, end - low - largest_sample, "left")))
        last = min(late[part], int(np.searchsorted(ends, end - low, "right")) - 1)
        cuts[part] = nearest(ends, first, last, total * part // num_shards)
    return cuts


def early_chain(ends: I64, num_shards: int, at_least: int) -> list[int] | None:
    """Cuts as early as parts of `at_least` bytes allow; None where the samples do not suffice."""
    cuts = [0]
    for _ in range(num_shards):
        cuts.append(int(np.searchsorted(ends, ends[cuts[-1]] + at_least, "left")))
        if cuts[-1] == len(ends):
            return None
    return cuts


def late_chain(ends: I64, num_shards: int, at_most: int) -> list[int]:
    """Cuts as late as parts of `at_most` bytes allow."""
    cuts = [0]
    for _ in range(num_shards):
        cuts.append(int(np.searchsorted(ends, ends[cuts[-1]] + at_most, "right")) - 1)
    return cuts


def nearest(ends: I64, first: int, last: int, share: int) -> int:
    """The cut in [first, last] whose byte position is nearest to `share`, the earlier one of two."""
    after = int(np.clip(np.searchsorted(ends, share, "left"), first, last))
    before = max(first, after - 1)
    return before if share - int(ends[before]) <= int(ends[after]) - share else after
