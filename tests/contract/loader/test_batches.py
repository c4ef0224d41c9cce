"""Automatic batching: which samples come in which batch, and what a batch is."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Dataset, Subset, TensorDataset, default_collate, random_split

from tests.contract.loader.datasets import Batched, Nested, Numbers, Pair, Point


def lists(loader):
    return [batch.tolist() for batch in loader]


def same(one, other):
    """Whether two batches are equal in structure, types, dtypes and values."""
    if type(one) is not type(other):
        return False
    if isinstance(one, torch.Tensor):
        return one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[name], other[name]) for name in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


def test_samples_come_in_the_order_of_the_dataset_in_batches_of_one_by_default(kit):
    assert lists(kit.make(Numbers(3))) == [[0], [1], [2]]


@pytest.mark.parametrize(
    ("drop_last", "expected"), [(False, [[0, 1, 2], [3, 4, 5], [6]]), (True, [[0, 1, 2], [3, 4, 5]])]
)
def test_the_last_batch_is_short_or_left_out(kit, drop_last, expected):
    loader = kit.make(Numbers(7), batch_size=3, drop_last=drop_last)
    assert len(loader) == len(expected)
    assert lists(loader) == expected


def test_shuffled_epochs_are_whole_and_differ(kit):
    loader = kit.make(Numbers(40), batch_size=8, shuffle=True)
    epochs = [[number for batch in lists(loader) for number in batch] for _ in range(2)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(40))] * 2
    assert epochs[0] != epochs[1]
    assert epochs[0] != list(range(40))


def test_equal_generators_give_equal_orders(kit):
    seeds = (3, 3, 4)
    loaders = [
        kit.make(Numbers(30), batch_size=30, shuffle=True, generator=torch.Generator().manual_seed(seed))
        for seed in seeds
    ]
    first, same_seed, other_seed = map(lists, loaders)
    assert first == same_seed != other_seed


def test_batches_are_collated_as_default_collate_does(kit):
    (batch,) = kit.make(Nested(), batch_size=4, sampler=[5, 0, 2, 2])
    expected = default_collate([Nested()[index] for index in (5, 0, 2, 2)])
    assert same(batch, expected)
    assert isinstance(batch["point"], Point)


def test_rows_keep_their_dtypes(kit):
    class Typed(Dataset):
        def __len__(self):
            return 3

        def __getitem__(self, index):
            dtypes = (np.float64, np.uint8, np.bool_, np.complex64, np.float16)
            tensors = (torch.bfloat16, torch.int32)
            return [np.full(2, index, dtype) for dtype in dtypes] + [torch.full((2,), index, dtype=d) for d in tensors]

    (batch,) = kit.make(Typed(), batch_size=3)
    assert same(batch, default_collate([Typed()[index] for index in range(3)]))


def test_a_collate_fn_gets_the_list_of_samples_and_gives_the_batch(kit):
    def put_together(samples):
        return type(samples), [type(sample) for sample in samples], sum(samples)

    batches = list(kit.make(Numbers(5), batch_size=2, collate_fn=put_together))
    assert batches == [(list, [int, int], 1), (list, [int, int], 5), (list, [int], 4)]


def test_a_collate_fn_may_put_dataclasses_together(kit):
    class Pairs(Numbers):
        def __getitem__(self, index):
            return Pair(index, [index, -index])

    def put_together(pairs):
        return Pair(*(default_collate([getattr(pair, name) for pair in pairs]) for name in ("left", "right")))

    (batch,) = kit.make(Pairs(2), batch_size=2, collate_fn=put_together)
    assert same(
        [*dataclasses.asdict(batch).values()], [torch.tensor([0, 1]), [torch.tensor([0, 1]), torch.tensor([0, -1])]]
    )


def test_samples_that_the_dataset_makes_by_the_batch_are_asked_for_by_the_batch(kit):
    assert lists(kit.make(Batched(5), batch_size=2)) == [[100, 101], [102, 103], [104]]
    assert lists(kit.make(Subset(Batched(5), [4, 0]), batch_size=2)) == [[104, 100]]


def test_what_getitems_gives_goes_to_the_collate_fn_as_it_is(kit):
    class Ready(Numbers):
        def __getitems__(self, indices):
            return {"rows": torch.tensor(indices), "num": len(indices)}

    batches = list(kit.make(Ready(3), batch_size=2, collate_fn=lambda batch: batch))
    assert [(batch["rows"].tolist(), batch["num"]) for batch in batches] == [([0, 1], 2), ([2], 1)]


def test_datasets_of_datasets_are_datasets(kit):
    first, second = random_split(Numbers(10), [6, 4], generator=torch.Generator().manual_seed(1))
    joined = ConcatDataset([first, second])
    rows = [number for batch in lists(kit.make(joined, batch_size=4)) for number in batch]
    assert rows == [*first.indices, *second.indices]
    (batch,) = kit.make(TensorDataset(torch.arange(3), torch.eye(3)), batch_size=3)
    assert same(batch, [torch.arange(3), torch.eye(3)])


@pytest.mark.parametrize("dataset", [{0: "a", 1: "b"}, ["x", "y"], "pq"])
def test_anything_with_a_length_and_items_is_a_dataset(kit, dataset):
    assert list(kit.make(dataset, batch_size=2)) == [[dataset[0], dataset[1]]]


def test_an_empty_dataset_has_no_batch(kit):
    loader = kit.make(Numbers(0), batch_size=2)
    assert len(loader) == 0
    assert list(loader) == []


@pytest.mark.parametrize("num", [1, 5, 6, 7])
@pytest.mark.parametrize("drop_last", [False, True])
def test_len_is_what_is_delivered(kit, num, drop_last):
    if kit.has_processes:
        num, drop_last = 7, True  # starting processes for each case says nothing more
    loader = kit.make(Numbers(num), batch_size=3, drop_last=drop_last, shuffle=True)
    assert len(loader) == len(list(loader)) == len(list(loader))
