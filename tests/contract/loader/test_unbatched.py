"""`batch_size=None`: samples as they are, and whole batches from datasets that give them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, default_convert

from tests.contract.loader.datasets import ByName, Nested, Numbers, Pair, Table
from tests.contract.loader.test_batches import same


def test_samples_come_one_by_one_and_are_converted_as_default_convert_does(kit):
    loader = kit.make(Nested(), batch_size=None)
    samples = list(loader)
    assert len(loader) == len(samples) == 6
    assert all(map(same, samples, [default_convert(Nested()[index]) for index in range(6)]))


def test_a_shuffled_epoch_has_each_sample_once(kit):
    samples = list(kit.make(Numbers(30), batch_size=None, shuffle=True))
    assert sorted(samples) == list(range(30)) != samples


def test_the_collate_fn_gets_the_sample(kit):
    assert list(kit.make(Numbers(3), batch_size=None, collate_fn=lambda sample: [sample])) == [[0], [1], [2]]


@pytest.mark.parametrize("drop_last", [False, True])
def test_a_batch_sampler_as_sampler_asks_the_dataset_for_whole_batches(kit, drop_last):
    table = Table(7)
    loader = kit.make(table, batch_size=None, sampler=BatchSampler(SequentialSampler(table), 3, drop_last))
    batches = [batch.tolist() for batch in loader]
    assert batches == [[0, 10, 20], [30, 40, 50], *([] if drop_last else [[60]])]
    assert len(loader) == len(batches)


def test_whole_batches_may_be_shuffled(kit):
    table = Table(20)
    loader = kit.make(table, batch_size=None, sampler=BatchSampler(RandomSampler(table), 5, drop_last=False))
    rows = torch.cat(list(loader)).tolist()
    assert sorted(rows) == table.rows.tolist() != rows


def test_any_key_may_come_from_a_sampler(kit):
    assert list(kit.make(ByName(), batch_size=None, sampler=["a", "bcd"])) == [["a", 1], ["bcd", 3]]
    slices = [slice(0, 2), slice(2, None)]
    assert [batch.tolist() for batch in kit.make(Table(5), batch_size=None, sampler=slices)] == [[0, 10], [20, 30, 40]]


def test_objects_of_any_class_pass_as_they_are(kit):
    class Things(Numbers):
        def __getitem__(self, index):
            return Pair(index, {index})

    assert list(kit.make(Things(2), batch_size=None)) == [Pair(0, {0}), Pair(1, {1})]


def test_arrays_become_tensors_and_numbers_stay(kit):
    class Mixed(Numbers):
        def __getitem__(self, index):
            return np.full(2, index, dtype=np.float64), index, "text", np.int32(index)

    (sample,) = kit.make(Mixed(1), batch_size=None)
    assert same(sample, default_convert(Mixed(1)[0]))


def test_there_is_no_getitems_without_batches(kit):
    class Both(Numbers):
        def __getitems__(self, indices):
            raise AssertionError("not to be called")

    assert list(kit.make(Both(2), batch_size=None)) == [0, 1]
