"""Measures of mixing, on orders whose measures are known."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import mixing

NUM, BATCH = 12_000, 40
DATASET_ORDER = np.arange(NUM)


def shuffled(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permutation(NUM)


def in_windows(size: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).permuted(DATASET_ORDER.reshape(-1, size), axis=1).ravel()


def test_places_are_the_inverse():
    ids = shuffled(0)
    assert np.array_equal(ids[mixing.places_of(ids)], DATASET_ORDER)


@pytest.mark.parametrize(
    "ids, distance", [(DATASET_ORDER, 1 / NUM), (shuffled(1), 1 / 3), (in_windows(1200, 2), 1 / 30)]
)
def test_neighbours_come_apart(ids, distance):
    assert mixing.apart(ids) == pytest.approx(distance, rel=0.03)


def test_samples_move_from_epoch_to_epoch():
    assert mixing.moved(shuffled(1), shuffled(2)) == pytest.approx(1 / 3, rel=0.03)
    assert mixing.moved(shuffled(1), shuffled(1)) == 0
    assert mixing.moved(DATASET_ORDER, np.roll(DATASET_ORDER, NUM // 2)) == pytest.approx(1 / 2)


@pytest.mark.parametrize(
    "ids, next_ids, companions",
    [
        (DATASET_ORDER, DATASET_ORDER, BATCH - 1),
        (shuffled(1), shuffled(2), (BATCH - 1) ** 2 / (NUM - 1)),
        (in_windows(1200, 1), in_windows(1200, 2), (BATCH - 1) ** 2 / 1199),
    ],
)
def test_companions_are_met_again(ids, next_ids, companions):
    assert mixing.met_again(ids, next_ids, BATCH) == pytest.approx(companions, rel=0.05)


def test_labels_of_a_batch_are_counted():
    labels = np.array([0, 0, 0, 0, 0, 1, 2, 1, 7])
    assert mixing.distinct_in_batch(labels, 4) == pytest.approx((1 + 3) / 2)


def test_a_batch_is_worth_its_size_when_drawn_at_random_and_one_when_all_are_alike():
    labels = DATASET_ORDER * 100 // NUM
    assert mixing.effective_batch(labels[shuffled(4)], BATCH) == pytest.approx(BATCH, rel=0.05)
    assert mixing.effective_batch(labels, BATCH) == pytest.approx(1, rel=0.01)
    twice = np.repeat(np.random.default_rng(5).permutation(labels[::2]), 2)
    assert mixing.effective_batch(twice, BATCH) == pytest.approx(BATCH / 2, rel=0.05)
