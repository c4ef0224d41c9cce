"""Permutations are bijections, for every size: small ones are looked at whole, large ones have an inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace._base.hashing import to_u64
from headrace.order.permutation import NUM_ROUNDS, STORED_BELOW, FeistelPermutation, permutation
from tests.property.order.feistel import SlowFeistel

KEYS = st.integers(0, (1 << 64) - 1)


def is_permutation(elements: np.ndarray, size: int) -> bool:
    return bool(np.array_equal(np.bincount(elements, minlength=size), np.ones(size)))


def test_every_size_up_to_5000():
    for size in range(1, 5001):
        assert is_permutation(permutation(size, size).at(np.arange(size)), size), size


def test_every_small_size_of_the_network_itself():
    """Also those below the threshold, where cycle walking has the oddest domains."""
    for size in range(1, STORED_BELOW):
        assert is_permutation(FeistelPermutation(size, to_u64([size])).at(np.arange(size)), size), size


@pytest.mark.parametrize("num_bits", range(11, 21))
def test_whole_powers_of_two(num_bits):
    """No walking: the network alone, for halves of 5 to 10 bits, equal and unequal."""
    size = 1 << num_bits
    assert is_permutation(permutation(size, num_bits).at(np.arange(size)), size)


@given(size=st.integers(STORED_BELOW - 3, 300_000), key=KEYS)
def test_whole_sizes_around_and_above_the_threshold(size, key):
    assert is_permutation(permutation(size, key).at(np.arange(size)), size)


@st.composite
def sizes(draw) -> int:
    """Up to 2^40, all magnitudes alike, and up to the largest; powers of two and their neighbours."""
    power = draw(st.integers(10, 40) | st.just(62))
    size = draw(st.integers(1 << (power - 1), 1 << power) | st.sampled_from([(1 << power) - 1, 1 << power]))
    return size + draw(st.integers(0, 1)) if power < 62 else size


@settings(max_examples=150)
@given(size=sizes(), key=KEYS, data=st.data())
def test_large_sizes_have_an_inverse(size, key, data):
    """Fast path equal to the slow one, whose inverse leads from each element back to its position, and forth."""
    slow = SlowFeistel(size, key)
    places = data.draw(st.lists(st.integers(0, size - 1), min_size=1, max_size=8))
    elements = FeistelPermutation(size, to_u64([key])).at(np.array(places, dtype=np.int64)).tolist()
    assert elements == [slow.element(place) for place in places]
    assert all(0 <= element < size for element in elements)
    assert [slow.position(element) for element in elements] == places
    assert [slow.element(slow.position(place)) for place in places] == places


@given(num_bits=st.integers(2, 62), number=st.integers(0, NUM_ROUNDS - 1), key=KEYS, data=st.data())
def test_a_round_undoes_itself(num_bits, number, key, data):
    slow = SlowFeistel(1 << num_bits, key)
    value = data.draw(st.integers(0, slow.size - 1))
    assert slow.one_round(slow.one_round(value, number), number) == value
    assert 0 <= slow.one_round(value, number) < slow.size


@settings(max_examples=15)
@given(size=st.integers(1 << 20, 1 << 40), key=KEYS, seed=st.integers(0, 1000))
def test_hundred_thousand_positions_never_collide(size, key, seed):
    places = np.unique(np.random.default_rng(seed).integers(0, size, 100_000))
    elements = permutation(size, key).at(places)
    assert elements.dtype == np.int64
    assert elements.min() >= 0
    assert elements.max() < size
    assert len(np.unique(elements)) == len(places)
