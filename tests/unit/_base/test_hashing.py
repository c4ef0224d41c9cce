from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace._base.hashing import fold, philox4x32, philox_words, sample_keys, uniform

keys = st.integers(0, 2**64 - 1)
words = st.integers(0, 2**32 - 1)


def test_philox_gives_the_published_numbers():
    """Random123's known-answer file: philox4x32, 10 rounds, counter and key zero."""
    known = (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)
    assert philox_words(0, 0, 0) == known
    assert [tuple(row) for row in philox4x32(np.zeros(2, np.uint64), 0, 0).tolist()] == [known, known]


@given(key=keys, block=words, op=words)
def test_one_key_alone_gives_what_it_gives_among_others(key, block, op):
    together = philox4x32(np.array([key, 7], np.uint64), block, op)
    assert together[0].tolist() == list(philox_words(key, block, op))
    assert philox4x32(np.array([[key]], np.uint64), block, op).tolist() == [[together[0].tolist()]]


@given(key=keys, op=words, index=st.integers(0, 100))
def test_uniform_numbers_lie_in_the_unit_interval_in_steps_of_2_to_minus_53(key, op, index):
    value = float(uniform(np.array([key], np.uint64), op, index)[0])
    assert 0 <= value < 1
    assert (value * 2**53).is_integer()


def test_uniform_numbers_are_uniform():
    counts, _ = np.histogram(uniform(sample_keys(0, 0, np.arange(20_000)), 3, 1), bins=20, range=(0, 1))
    assert ((counts - 1000) ** 2 / 1000).sum() < 60  # chi-square of 19 degrees: 60 has a chance of 4e-6


@given(
    seed=keys,
    epoch=st.integers(0, 2**31),
    rows=st.lists(st.tuples(st.integers(0, 2**62), st.integers(0, 2**62)), max_size=8),
    view=st.integers(0, 9),
)
def test_sample_keys_are_the_hash_of_all_parts(seed, epoch, rows, view):
    ids, draws = np.array(rows, dtype=np.int64).reshape(-1, 2).T.copy()
    assert np.array_equal(sample_keys(seed, epoch, ids, view), fold(seed, epoch, ids, view, 0))
    assert np.array_equal(sample_keys(seed, epoch, ids, view, draws), fold(seed, epoch, ids, view, draws))


def test_every_sample_has_one_draw():
    with pytest.raises(ValueError, match="ids and draws"):
        sample_keys(0, 0, np.arange(2), draws=np.arange(3))
