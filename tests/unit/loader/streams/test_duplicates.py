"""Streams that begin alike are found and told of, once."""

import warnings

import numpy as np
import pytest
import torch

from headrace.loader.streams.beginning import LOOKED_AT, Beginning
from headrace.loader.streams.duplicates import Duplicates


def beginning_of(*batches):
    """What was said at each batch, the last one being the end of the stream."""
    looks = Beginning()
    return [looks.see(batch, ended=number == len(batches) - 1) for number, batch in enumerate(batches)]


def test_the_hash_comes_once_and_does_not_depend_on_batches():
    samples = [{"image": torch.arange(3) + row, "name": f"{row}"} for row in range(LOOKED_AT + 3)]
    whole = beginning_of(samples[:LOOKED_AT], samples[LOOKED_AT:])
    assert whole[0] is not None
    assert whole[1] is None
    apart = beginning_of(*([one] for one in samples))
    assert [one for one in apart if one] == [whole[0]]
    assert apart[LOOKED_AT - 1] == whole[0]
    large = [np.full(100_000, row) for row in range(2)]
    assert beginning_of(large) != beginning_of(large[::-1]), "what is said depends on the content of large arrays"


def test_short_streams_are_compared_as_a_whole_and_empty_ones_not_at_all():
    assert beginning_of([1, 2]) == beginning_of([1, 2]) != beginning_of([1, 2, 3])
    assert beginning_of([1], []) == [None, beginning_of([1])[0]]
    assert beginning_of([]) == [None]


def test_samples_that_cannot_be_pickled_are_left_alone():
    assert beginning_of([1, (one for one in "ab")], [2]) == [None, None]


def test_workers_that_begin_alike_are_told_of_once():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = Duplicates(0, None)
        found.note(0, "a")
        found.note(0, "a")
        found.note(1, "b")
    with pytest.warns(UserWarning, match=r"Workers 0 and 2 begin with the same 8 samples.*shard\(index, count\)"):
        found.note(2, "a")
    found.note(3, "a")  # warnings are errors here


def test_ranks_that_begin_alike_are_told_of_by_all_but_the_first():
    store = {}
    first, second = (Duplicates(rank, store.setdefault) for rank in range(2))
    first.note(0, "a")
    with pytest.warns(UserWarning, match="streams of rank 0, worker 0 and rank 1, worker 0 begin with the same"):
        second.note(0, "a")
