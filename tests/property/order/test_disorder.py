"""Permutations are as disordered as numpy's; weak ones are caught by the same statistics at the same threshold."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from headrace._base.hashing import fold
from headrace.order.keys import full_key
from headrace.order.permutation import STORED_BELOW, FeistelPermutation, permutations
from tests.property.order.disorder import STATISTICS, differences, joint, matches

LIMIT = 4.5
"""Standard deviations: chance goes beyond in seven of a million. Keys are fixed, so a test passes always or never."""

SHAPES = {
    "stored": (4000, 200),
    "smallest computed": (1000, STORED_BELOW),
    "walking": (700, 1500),
    "whole power of two": (16, 1 << 16),
    "large": (10, 100_003),
}
"""Permutations and their size."""

KEYS = fold(20, np.arange(4000))


@functools.cache
def ours(shape: str) -> np.ndarray:
    num, size = SHAPES[shape]
    return tables_of(permutations(size, KEYS[:num]), num)


def tables_of(many, num: int) -> np.ndarray:
    """All elements of several permutations, shape (permutations, elements)."""
    which = np.repeat(np.arange(num), many.size)
    return many.at(np.tile(np.arange(many.size), num), which).reshape(num, many.size)


@functools.cache
def numpys(shape: str) -> np.ndarray:
    num, size = SHAPES[shape]
    return np.random.default_rng(7).permuted(np.tile(np.arange(size), (num, 1)), axis=1)


@functools.cache
def epoch_to_epoch(num: int, size: int) -> np.ndarray:
    """Where the sample at each position of an epoch stands in the next one."""
    keys = np.array([full_key(3, epoch) for epoch in range(num + 1)], dtype=np.uint64)
    places = np.argsort(tables_of(permutations(size, keys), num + 1), axis=1)
    return np.stack([after[np.argsort(before)] for before, after in itertools.pairwise(places)])


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("source", [ours, numpys])
def test_no_statistic_tells_ours_from_chance(source, shape, statistic):
    assert abs(STATISTICS[statistic](source(shape))) < LIMIT


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("shape", [(1000, 500), (8, 50_000)])
def test_an_epoch_tells_nothing_about_the_next(shape, statistic):
    assert abs(STATISTICS[statistic](epoch_to_epoch(*shape))) < LIMIT


@pytest.mark.parametrize("lag", [2, 16, 32, 128, 256, 512])
def test_places_that_share_a_half_are_not_related(lag):
    """2^16 elements have halves of eight bits: lags of 256 and 512 leave the low half as it is."""
    assert abs(differences(ours("whole power of two"), lag)) < LIMIT


@pytest.mark.parametrize("size", [200, 1 << 16, 10**9, (1 << 40) + 1])
@pytest.mark.parametrize("pair", [(0, 1), (0, 128), (3, 3 + 64), (17, 150)])
def test_two_places_are_independent_over_keys(size, pair):
    which = np.repeat(np.arange(len(KEYS)), 2)
    heads = permutations(size, KEYS).at(np.tile(np.array(pair), len(KEYS)), which).reshape(-1, 2)
    assert abs(joint(heads, size)) < LIMIT


def rotated(num: int, size: int) -> np.ndarray:
    return (np.arange(size) + starts_of(num, size)) % size


def affine(num: int, size: int) -> np.ndarray:
    """A linear congruence: what is left of a shuffle that saves on arithmetic."""
    starts = starts_of(num, size)
    return ((2 * starts[::-1] + 1) * np.arange(size) + starts) % size


def starts_of(num: int, size: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, size, (num, 1))


def in_windows(num: int, size: int) -> np.ndarray:
    """A shuffle buffer's: thoroughly mixed, but only within eighths."""
    rng, eighth = np.random.default_rng(2), size // 8
    inside = rng.permuted(np.tile(np.arange(eighth), (num, 8, 1)), axis=2)
    return (inside + np.arange(8)[:, None] * eighth).reshape(num, size)


def one_for_all(num: int, size: int) -> np.ndarray:
    """The key has no effect."""
    return np.tile(np.random.default_rng(3).permutation(size), (num, 1))


def riffled(num: int, size: int) -> np.ndarray:
    """Cut in two at random and merged again at random, once: a card player's shuffle."""
    cards = np.random.default_rng(4).integers(0, 2, (num, size))
    return np.argsort(cards, axis=1, kind="stable")


def of_rounds(rounds: int):
    def feistel(num: int, size: int) -> np.ndarray:
        weak = FeistelPermutation(size, KEYS[:num])
        weak._round_keys = weak._round_keys[:rounds]
        return tables_of(weak, num)

    return feistel


CAUGHT = {
    rotated: {"neighbours", "differences", "ascents", "patterns", "correlation", "serial_correlation", "places"},
    affine: {"differences", "patterns", "places"},
    in_windows: {"fixed_points", "neighbours", "inversions", "correlation", "serial_correlation", "places"},
    one_for_all: {"places_over_keys"},
    riffled: {"ascents", "inversions", "places_over_keys"},
    of_rounds(2): {"differences", "patterns", "places"},
}
"""Which statistics catch which weak permutation: each at least one, and each is caught."""


@pytest.mark.parametrize("weak", CAUGHT)
def test_weak_permutations_are_caught(weak):
    tables = weak(16, 1 << 16)
    caught = {name for name, statistic in STATISTICS.items() if abs(statistic(tables)) > LIMIT}
    assert caught >= CAUGHT[weak]


def test_every_statistic_catches_something():
    assert set.union(*CAUGHT.values()) == set(STATISTICS)


def test_the_number_of_rounds_leaves_a_reserve():
    """What tells four rounds from chance at one glance, and six at a longer one, finds nothing in ours."""
    assert matches(of_rounds(4)(1, 1 << 16)) > LIMIT
    assert matches(of_rounds(6)(1000, 1 << 10)) > LIMIT
    assert abs(matches(numpys("smallest computed"))) < LIMIT
    assert abs(matches(ours("smallest computed"))) < LIMIT
    assert abs(matches(ours("whole power of two"))) < LIMIT
