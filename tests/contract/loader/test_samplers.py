"""Samplers and batch samplers: whatever they give is what the dataset is asked for."""

from __future__ import annotations

import enum

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    Dataset,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

from tests.contract.loader.datasets import ByName, Numbers


class Echo(Dataset):
    """Tells what it was asked for."""

    def __getitem__(self, key):
        return key


class Colour(enum.IntEnum):
    RED = 1


class Without(Sampler):
    """No length, as many samplers have none."""

    def __iter__(self):
        yield from (4, 2, 0)


def rows(loader):
    return [number for batch in loader for number in batch.tolist()]


def as_it_is(samples):
    return samples


def test_ids_come_in_the_order_of_the_sampler_repeated_or_negative(kit):
    loader = kit.make(Numbers(9), batch_size=2, sampler=[8, 1, 1, -1, 0])
    assert [batch.tolist() for batch in loader] == [[8, 1], [1, 8], [0]]
    assert len(loader) == 3


def test_drop_last_holds_for_samplers(kit):
    loader = kit.make(Numbers(9), batch_size=2, sampler=range(5), drop_last=True)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]
    assert len(loader) == 2


def test_a_batch_sampler_says_the_batches(kit):
    loader = kit.make(Numbers(9), batch_sampler=[[3], (2, 2, 7), np.array([5])])
    assert [batch.tolist() for batch in loader] == [[3], [2, 2, 7], [5]]
    assert len(loader) == 3


@pytest.mark.parametrize("keys", [["a", "bcd", "ef"], [("a", 1), ("b", 2), ("c", 3)], [b"x", 1.5, None]])
def test_keys_may_be_anything(kit, keys):
    batches = list(kit.make(Echo(), batch_size=2, sampler=keys, collate_fn=as_it_is))
    assert batches == [keys[:2], keys[2:]]


def test_a_mapping_is_a_dataset_of_its_keys(kit):
    table = {"one": 1, "two": 2, ("three", 3): 3}
    assert rows(kit.make(table, batch_size=2, sampler=list(table))) == [1, 2, 3]
    assert rows(kit.make(table, batch_sampler=[["two"], ["one", ("three", 3)]])) == [2, 1, 3]


def test_a_dataset_without_a_length_needs_none_with_a_sampler(kit):
    loader = kit.make(ByName(), batch_size=3, sampler=["a", "bc", ""])
    names, lengths = next(iter(loader))
    assert (list(names), lengths.tolist()) == (["a", "bc", ""], [1, 2, 0])
    assert len(loader) == 1


@pytest.mark.parametrize(
    "key", [np.int64(3), torch.tensor(3), True, Colour.RED, 2**70], ids=["numpy", "tensor", "bool", "enum", "large"]
)
def test_keys_arrive_as_the_objects_that_they_are(kit, key):
    if kit.is_torch and kit.has_processes and isinstance(key, torch.Tensor):
        pytest.skip("torch leaves the thread behind with which it sends tensors to workers")
    ((found,),) = kit.make(Echo(), sampler=[key], collate_fn=as_it_is)
    assert type(found) is type(key)
    assert found == key


def test_keys_of_a_class_of_a_script_travel(our_kit):
    class Key:
        def __init__(self, name):
            self.name = name

    class ByKey(Dataset):
        def __getitem__(self, key):
            return key.name

    assert list(our_kit.make(ByKey(), batch_size=2, sampler=[Key("a"), Key("b")])) == [["a", "b"]]


def test_a_sampler_without_a_length_gives_a_loader_without_one(kit):
    loader = kit.make(Numbers(5), batch_size=2, sampler=Without())
    assert [batch.tolist() for batch in loader] == [[4, 2], [0]]
    with pytest.raises(TypeError, match="has no len"):
        len(loader)


def test_a_sampler_is_asked_anew_for_each_epoch_and_an_iterator_is_used_up(kit):
    again = kit.make(Numbers(5), batch_size=2, sampler=Without())
    assert rows(again) == rows(again) == [4, 2, 0]
    once = kit.make(Numbers(5), batch_size=2, sampler=(index for index in (1, 3)))
    assert rows(once) == [1, 3]
    assert rows(once) == []


@pytest.mark.parametrize(
    ("make", "check"),
    [
        (lambda: SubsetRandomSampler([3, 5, 7], generator=torch.Generator().manual_seed(0)), {3, 5, 7}),
        (lambda: WeightedRandomSampler([0, 1, 0, 1], 6, generator=torch.Generator().manual_seed(0)), {1, 3}),
        (lambda: RandomSampler(range(8), generator=torch.Generator().manual_seed(0)), set(range(8))),
        (lambda: RandomSampler(range(4), replacement=True, num_samples=9), {0, 1, 2, 3}),
    ],
    ids=["subset", "weighted", "random", "replacement"],
)
def test_samplers_of_torch_are_honoured(kit, make, check):
    sampler = make()
    found = rows(kit.make(Numbers(8), batch_size=4, sampler=sampler))
    assert len(found) == len(sampler)
    assert set(found) <= check
    if sampler.generator is not None:
        assert found == list(make()), "the sampler's own generator says the order"


@pytest.mark.parametrize("as_batches", [False, True])
def test_a_distributed_sampler_is_the_callers(kit, as_batches):
    for rank in range(2):
        sampler = DistributedSampler(Numbers(10), num_replicas=2, rank=rank, shuffle=True, seed=3)
        how = {"batch_sampler": BatchSampler(sampler, 2, drop_last=False)} if as_batches else {"sampler": sampler}
        loader = kit.make(Numbers(10), **({"batch_size": 2} if not as_batches else {}), **how)
        found = []
        for epoch in range(2):
            sampler.set_epoch(epoch)
            expected = list(sampler)
            found.append(rows(loader))
            assert found[-1] == expected
        assert found[0] != found[1]


def test_samplers_are_iterables_of_any_kind(kit):
    assert rows(kit.make(Numbers(9), batch_size=2, sampler=SequentialSampler(range(3)))) == [0, 1, 2]
    assert rows(kit.make(Numbers(9), batch_size=2, sampler=np.array([4, 2]))) == [4, 2]


def test_an_error_of_a_sampler_is_raised_behind_what_it_gave(kit):
    def failing():
        yield from (0, 1)
        raise LookupError("the list ends here")

    iterator = iter(kit.make(Numbers(9), batch_size=2, sampler=failing(), **prompt(kit)))
    found = []
    with pytest.raises(LookupError, match="ends here"):
        found.extend(batch.tolist() for batch in iterator)
    assert found == ([] if kit.is_torch and kit.has_workers else [[0, 1]])


def prompt(kit):
    """As few batches ahead as there can be: torch's loader raises a sampler's error as soon as it meets it."""
    return {"prefetch_factor": 1} if kit.has_workers else {}
