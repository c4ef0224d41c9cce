"""Permutations at any position: the same on every machine, small or large, one or several at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import OrderError
from headrace.order.permutation import (
    BLOCK,
    LARGEST_SIZE,
    STORED_BELOW,
    FeistelPermutation,
    StoredPermutation,
    permutation,
    permutations,
)

KEYS = st.integers(0, (1 << 64) - 1)

GOLDEN = {
    (10, 0): [1, 4, 5, 7, 6, 9, 0, 3],
    (5000, 1): [515, 1074, 2105, 1498, 1871, 4844, 21, 132],
    (70_000, 1): [6031, 49024, 32604, 15778, 36298, 56840, 65132, 65945],
    (10**9, 2): [378078800, 570405980, 24180463, 316269288, 693505179, 83230754, 938915367, 228865105],
    (1 << 62, 3): [
        395144086355088202,
        3513593013092495090,
        419654307305429985,
        3233196130566123183,
        961573705009231839,
        880047734446324424,
        2506173967898306120,
        3949254540391696388,
    ],
}


@pytest.mark.parametrize("size, key", GOLDEN)
def test_golden_vectors(size, key):
    assert permutation(size, key).at(np.arange(8, dtype=np.int64)).tolist() == GOLDEN[size, key]


@given(size=st.integers(1, 200_000), key=KEYS, split=st.floats(0, 1))
def test_any_position_alone_is_as_in_the_whole(size, key, split):
    position = int(split * (size - 1))
    elements = permutation(size, key).at(np.arange(size, dtype=np.int64))
    assert permutation(size, key).at(np.array([position], dtype=np.int64))[0] == elements[position]


@pytest.mark.parametrize("num", [BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 5])
def test_many_positions_are_computed_in_blocks(num):
    many, places = permutations(10**9, np.array([3, 4], dtype=np.uint64)), np.arange(num) * 1000
    which = np.arange(num) % 2
    together = many.at(places, which)
    assert np.array_equal(together[which == 0], permutation(10**9, 3).at(places[which == 0]))
    assert np.array_equal(together[which == 1], permutation(10**9, 4).at(places[which == 1]))


@given(size=st.integers(1, 3000) | st.integers(1, LARGEST_SIZE), data=st.data())
def test_several_keys_are_each_as_alone(size, data):
    keys = data.draw(st.lists(KEYS, min_size=1, max_size=5))
    which = data.draw(st.lists(st.integers(0, len(keys) - 1), max_size=30))
    places = data.draw(st.lists(st.integers(0, size - 1), min_size=len(which), max_size=len(which)))
    many = permutations(size, np.array(keys, dtype=np.uint64))
    together = many.at(np.array(places, dtype=np.int64), np.array(which, dtype=np.int64))
    alone = [
        int(permutation(size, keys[number]).at(np.array([place]))[0])
        for number, place in zip(which, places, strict=True)
    ]
    assert together.tolist() == alone


@pytest.mark.parametrize("size, kind", [(STORED_BELOW - 1, StoredPermutation), (STORED_BELOW, FeistelPermutation)])
def test_small_ones_are_stored_and_large_ones_computed(size, kind):
    assert type(permutation(size, 0)) is kind


def test_positions_are_left_as_they_are():
    positions = np.arange(5000)
    permutation(5000, 0).at(positions)
    assert np.array_equal(positions, np.arange(5000))


def test_nothing_is_permuted_to_nothing():
    assert permutation(0, 0).at(np.zeros(0, dtype=np.int64)).tolist() == []


def test_keys_give_different_permutations():
    heads = {tuple(permutation(70_000, key).at(np.arange(4, dtype=np.int64))) for key in range(1000)}
    assert len(heads) == 1000


@pytest.mark.parametrize("size", [-1, LARGEST_SIZE + 1])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(OrderError, match=str(size)):
        permutation(size, 0)
