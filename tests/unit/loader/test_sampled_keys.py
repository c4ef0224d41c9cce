"""What a sampler gives becomes rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from headrace.errors import OptionError
from headrace.loader.batched_samplers import BatchedSampler, OneByOne
from headrace.loader.sampled_keys import ReadNumbers, read_keys


def test_plain_numbers_are_ids_and_nothing_else_is_kept():
    rows = read_keys((3, -1, 3), position=7)
    assert rows.ids.tolist() == [3, -1, 3]
    assert rows.keys is None


@pytest.mark.parametrize("key", [np.int64(2), True, torch.tensor(2)])
def test_other_integers_are_ids_and_kept_as_they_are(key):
    rows = read_keys([0, key], position=0)
    assert rows.ids.tolist() == [0, int(key)]
    assert rows.keys[1] is key


@pytest.mark.parametrize("key", ["a", ("a", 1), None, 1.5, 2**70, [1, 2]])
def test_keys_that_are_no_numbers_are_numbered_by_their_place_in_the_epoch(key):
    rows = read_keys([5, key], position=10)
    assert rows.ids.tolist() == [10, 11]
    assert rows.keys == [5, key]


def test_numbers_count_from_the_end_where_the_loader_looks_them_up():
    read = ReadNumbers(num_samples=4)
    assert read([0, -1, -4, 3], 0).ids.tolist() == [0, 3, 0, 3]
    for lost in (4, -5):
        with pytest.raises(IndexError, match=f"sample {lost} is out of range: there are 4"):
            read([0, lost], 0)
    with pytest.raises(OptionError, match="no sample number"):
        read(["a"], 0)


@pytest.mark.parametrize("read", [read_keys, ReadNumbers(num_samples=9)])
def test_batches_hold_something(read):
    with pytest.raises(OptionError, match="empty batch"):
        read([], 0)
    with pytest.raises(OptionError, match="no list"):
        read(3, 0)


@pytest.mark.parametrize("num", [0, 1, 6, 7])
@pytest.mark.parametrize("drop_last", [False, True])
def test_a_sampler_in_batches_has_the_length_that_it_says(num, drop_last):
    batches = BatchedSampler(range(num), 3, drop_last=drop_last)
    assert len(list(batches)) == len(batches)
    assert [key for batch in batches for key in batch] == list(range(num // 3 * 3 if drop_last else num))
    assert list(OneByOne(range(num))) == [[index] for index in range(num)]
    assert len(OneByOne(range(num))) == num
