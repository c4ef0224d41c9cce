from __future__ import annotations

import random
import threading

import numpy as np
import pytest
import torch

from headrace.errors import HeadraceError
from headrace.recipes import rng
from headrace.recipes.generators import GENERATORS
from headrace.recipes.randomness import RowsRandomness, sample_key, sample_randomness

KEY = 2**64 - 3


def numbers(key):
    with sample_randomness(key):
        return rng().random(3).tolist()


def test_numbers_depend_on_the_key_alone():
    assert numbers(KEY) == numbers(KEY)
    assert numbers(KEY) != numbers(KEY - 1)


def test_generator_goes_on_within_a_sample():
    with sample_randomness(KEY):
        first, second = rng().random(), rng().random()
    assert [first, second] == numbers(KEY)[:2]


def test_numbers_are_those_of_philox():
    assert numbers(KEY) == np.random.Generator(np.random.Philox(key=KEY)).random(3).tolist()


def test_samples_may_be_nested():
    with sample_randomness(1):
        outer = rng()
        with sample_randomness(2):
            assert sample_key() == 2
        assert sample_key() == 1
        assert rng() is outer


def test_outside_of_a_transform_it_says_what_to_do():
    with pytest.raises(HeadraceError, match="default_rng"):
        rng()


def test_key_is_put_back_when_a_transform_raises():
    with pytest.raises(ZeroDivisionError), sample_randomness(1):
        _ = 1 / 0
    with pytest.raises(HeadraceError):
        sample_key()


def test_threads_do_not_see_each_other():
    seen = {}

    def work(key, barrier):
        with sample_randomness(key):
            barrier.wait()
            seen[key] = sample_key()

    barrier = threading.Barrier(4)
    threads = [threading.Thread(target=work, args=(key, barrier)) for key in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {key: key for key in range(4)}


def test_rows_of_a_batch_draw_what_each_would_draw_alone():
    keys, drawn, made = [KEY, 5, 6], [], []
    with RowsRandomness(lambda: keys, made) as randomness:
        for index in randomness.along([30, 10, 20]):
            drawn.append([sample_key(), *rng().random(2).tolist(), rng().random()])
            with sample_randomness(7):
                assert sample_key() == 7
            made.append(index)
    assert made == [30, 10, 20]
    assert drawn == [[key, *numbers(key)] for key in keys]
    with pytest.raises(HeadraceError):
        rng()


def test_rows_that_draw_nothing_need_no_keys():
    with RowsRandomness(lambda: pytest.fail("nobody has asked"), []) as randomness:
        assert list(randomness.along([1, 2])) == [1, 2]


def test_global_generators_follow_the_rows_of_a_batch(monkeypatch):
    def draws():
        return [random.random(), np.random.random(), torch.rand(1).item()]

    def draws_at(key):
        GENERATORS.seed(key)
        return draws()

    keys, drawn = [3, KEY], []
    monkeypatch.setattr(GENERATORS, "follow_samples", True)
    with GENERATORS.kept():
        with RowsRandomness(lambda: keys, drawn) as randomness:
            drawn.extend(draws() for _ in randomness.along([0, 1]))
        assert drawn == [draws_at(key) for key in keys]
