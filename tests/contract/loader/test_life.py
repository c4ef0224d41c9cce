"""Iterators come, are left, and come again; loaders are copied."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest
import torch

from tests.contract.loader.datasets import Nested, Numbers


def lists(loader):
    return [batch.tolist() for batch in loader]


def test_a_loop_that_is_left_is_begun_anew(kit):
    loader = kit.make(Numbers(8), batch_size=2)
    for _ in range(2):
        for batch in loader:
            assert batch.tolist() == [0, 1]
            break
    assert lists(loader) == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_a_finished_iterator_stays_finished(kit):
    iterator = iter(kit.make(Numbers(2), batch_size=2))
    assert next(iterator).tolist() == [0, 1]
    for _ in range(2):
        with pytest.raises(StopIteration):
            next(iterator)


def test_iterators_are_iterators(kit):
    iterator = iter(kit.make(Numbers(4), batch_size=2))
    assert iter(iterator) is iterator
    assert lists(iterator) == [[0, 1], [2, 3]]


@pytest.mark.parametrize("drop_last", [False, True])
def test_iterators_have_the_length_of_the_loader_all_the_way(kit, drop_last):
    loader = kit.make(Numbers(7), batch_size=2, drop_last=drop_last)
    iterator = iter(loader)
    lengths = [len(iterator) for _ in iterator]
    assert lengths == [len(loader)] * (3 if drop_last else 4)
    with pytest.raises(TypeError):
        len(iter(kit.make(Numbers(7), sampler=(index for index in range(3)))))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda loader: pickle.loads(pickle.dumps(loader))])
def test_a_copy_is_a_loader(kit, copied):
    if kit.has_processes and copied is not copy.deepcopy:
        pytest.skip("what is copied is the same on any engine")
    loader = kit.make(Numbers(5), batch_size=2, collate_fn=torch.tensor)
    other = copied(loader)
    kit.made.append(other)
    assert lists(other) == lists(loader) == [[0, 1], [2, 3], [4]]
    assert (other.batch_size, other.collate_fn, len(other)) == (2, torch.tensor, 3)


def test_two_loaders_of_one_dataset_live_side_by_side(kit):
    dataset = Numbers(6)
    pairs = zip(kit.make(dataset, batch_size=2), kit.make(dataset, batch_size=2, sampler=range(5, -1, -1)), strict=True)
    assert [(one.tolist(), other.tolist()) for one, other in pairs] == [
        ([0, 1], [5, 4]),
        ([2, 3], [3, 2]),
        ([4, 5], [1, 0]),
    ]


def test_batches_outlive_their_loader(kit):
    loader = kit.make(Nested(), batch_size=3)
    batches = list(loader)
    kept = [batch["tensor"].clone() for batch in batches]
    lists_of_others = lists(kit.make(Numbers(40), batch_size=4))
    assert len(lists_of_others) == 10
    assert all(torch.equal(batch["tensor"], before) for batch, before in zip(batches, kept, strict=True))


def test_batches_may_be_written_to(kit):
    loader = kit.make(Numbers(4), batch_size=2)
    for batch in loader:
        batch.add_(100)
    assert lists(loader) == [[0, 1], [2, 3]]


def test_a_loader_that_nobody_holds_is_gone(kit):
    loader = kit.make(Numbers(4), batch_size=2)
    assert len(list(loader)) == 2
    gone = weakref.ref(loader)
    kit.made.clear()
    del loader
    gc.collect()
    assert gone() is None
