"""Shards are even, whatever the samples are."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace.shards import even_counts, even_cuts

SIZES = st.one_of(
    st.lists(st.integers(1, 100), min_size=1, max_size=60),
    st.lists(st.sampled_from([1, 1000]), min_size=1, max_size=60),
    st.lists(st.just(7), min_size=1, max_size=60),
    st.lists(st.integers(1, 1 << 40), min_size=1, max_size=30),
)


def shard_sizes(sizes, counts):
    return np.add.reduceat(sizes, np.cumsum(counts) - counts)


@given(num_samples=st.integers(1, 10_000), samples_per_shard=st.integers(1, 12_000))
def test_counts_differ_by_at_most_one_in_as_few_shards_as_possible(num_samples, samples_per_shard):
    counts = even_counts(num_samples, samples_per_shard)
    assert counts.sum() == num_samples
    assert counts.max() - counts.min() <= 1
    assert counts.min() >= 1
    assert counts.max() <= samples_per_shard
    assert len(counts) == -(-num_samples // samples_per_shard)


@given(sizes=SIZES, share=st.floats(0.001, 1.5))
def test_sizes_differ_by_at_most_the_largest_sample(sizes, share):
    array = np.array(sizes, dtype=np.int64)
    counts = even_cuts(array, max(1, int(share * array.sum())))
    totals = shard_sizes(array, counts)
    assert counts.sum() == len(sizes)
    assert counts.min() >= 1
    assert totals.max() - totals.min() <= array.max()


@given(sizes=SIZES, share=st.floats(0.01, 1.5))
def test_no_shard_is_larger_than_asked_where_samples_are_small_against_shards(sizes, share):
    array = np.array(sizes, dtype=np.int64)
    largest_bytes = max(2 * int(array.max()), int(share * array.sum()))
    assert shard_sizes(array, even_cuts(array, largest_bytes)).max() <= largest_bytes


def test_equal_samples_fill_shards_exactly():
    assert even_cuts(np.full(100, 10, dtype=np.int64), 250).tolist() == [25, 25, 25, 25]


def test_everything_fits_into_one_shard():
    assert even_cuts(np.array([3, 4, 5], dtype=np.int64), 100).tolist() == [3]
