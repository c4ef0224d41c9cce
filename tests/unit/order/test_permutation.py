"""Permutations are bijections, for every size, and the same on every machine."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import OrderError
from headrace.order.permutation import (
    LARGEST_SIZE,
    STORED_BELOW,
    FeistelPermutation,
    StoredPermutation,
    permutation,
)

KEYS = st.integers(0, (1 << 64) - 1)

GOLDEN = {
    (10, 0): [1, 4, 5, 7, 6, 9, 0, 3],
    (70_000, 1): [51818, 57279, 23222, 19283, 63296, 21601, 67520, 32575],
    (10**9, 2): [768573827, 162980749, 594931272, 568370329, 955316106, 837730792, 108302514, 568281315],
}


def whole(size: int, key: int, kind: type = StoredPermutation) -> np.ndarray:
    return kind(size, key).at(np.arange(size, dtype=np.int64))


def test_bijective_for_every_small_size():
    for size in range(1, 5001):
        for kind in (StoredPermutation, FeistelPermutation):
            seen = np.zeros(size, dtype=bool)
            seen[whole(size, 7, kind)] = True
            assert seen.all(), (size, kind)


@given(size=st.integers(STORED_BELOW - 3, 300_000), key=KEYS)
def test_bijective_around_and_above_the_threshold(size, key):
    elements = permutation(size, key).at(np.arange(size, dtype=np.int64))
    assert np.array_equal(np.sort(elements), np.arange(size))


@given(size=st.integers(1, 1 << 40), key=KEYS, data=st.data())
def test_large_sizes_stay_inside_and_never_collide(size, key, data):
    positions = np.array(data.draw(st.lists(st.integers(0, size - 1), unique=True, max_size=200)), dtype=np.int64)
    elements = permutation(size, key).at(positions)
    assert elements.dtype == np.int64
    assert ((elements >= 0) & (elements < size)).all()
    assert len(np.unique(elements)) == len(positions)


@given(size=st.integers(1, 200_000), key=KEYS, split=st.floats(0, 1))
def test_any_position_alone_is_as_in_the_whole(size, key, split):
    position = int(split * (size - 1))
    elements = permutation(size, key).at(np.arange(size, dtype=np.int64))
    assert permutation(size, key).at(np.array([position], dtype=np.int64))[0] == elements[position]


@pytest.mark.parametrize("size, key", GOLDEN)
def test_golden_vectors(size, key):
    assert permutation(size, key).at(np.arange(8, dtype=np.int64)).tolist() == GOLDEN[size, key]


@pytest.mark.parametrize("kind", [StoredPermutation, FeistelPermutation])
def test_positions_of_an_item_are_uniform(kind):
    """Chi-squared over 4,000 keys: where item 0 lands among 64 positions, and what comes after it."""
    size, keys = 64, 4000
    tables = np.stack([whole(size, key, kind) for key in range(keys)])
    lands = np.bincount(np.argmax(tables == 0, axis=1), minlength=size)
    follows = np.bincount((tables[:, 1] - tables[:, 0]) % size, minlength=size)[1:]
    for counts in (lands, follows):
        expected = keys / len(counts)
        assert ((counts - expected) ** 2 / expected).sum() < 63 + 5 * np.sqrt(2 * 63)


@pytest.mark.parametrize("size", [65_536, 100_003, 1 << 17])
def test_large_permutations_are_as_disordered_as_random_ones(size):
    """Fixed points, ascents, neighbours and mean displacement lie within five standard deviations of random ones."""
    for key in range(8):
        elements = permutation(size, key).at(np.arange(size, dtype=np.int64))
        index = np.arange(size)
        assert (elements == index).sum() <= 9
        assert abs((np.diff(elements) > 0).sum() - (size - 1) / 2) < 5 * np.sqrt((size + 1) / 12)
        assert (np.abs(np.diff(elements)) == 1).sum() <= 14
        displacement = np.abs(elements - index).mean()
        assert abs(displacement - size / 3) < 5 * size / np.sqrt(18 * size) * 1.5


def test_keys_give_different_permutations():
    heads = {tuple(permutation(70_000, key).at(np.arange(4, dtype=np.int64))) for key in range(1000)}
    assert len(heads) == 1000


@pytest.mark.parametrize("size", [-1, LARGEST_SIZE + 1])
def test_impossible_sizes_are_refused(size):
    with pytest.raises(OrderError, match=str(size)):
        permutation(size, 0)
