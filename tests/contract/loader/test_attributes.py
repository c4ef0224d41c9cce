"""Attributes: what code reads from a loader, may set, and may not."""

from __future__ import annotations

import pytest
import torch
from torch.utils.data import BatchSampler, RandomSampler, SequentialSampler, default_collate, default_convert

import headrace as hr
from tests.contract.loader.datasets import Numbers

LOADERS = {"torch": torch.utils.data.DataLoader, "headrace": hr.DataLoader}


@pytest.fixture(params=LOADERS.values(), ids=LOADERS.keys())
def make(request):
    """Makes a loader; none of these iterates."""
    return request.param


def first(rows):
    return rows[0]


def test_what_was_given_can_be_read(make):
    dataset, generator = Numbers(4), torch.Generator().manual_seed(1)
    given = {
        "batch_size": 3,
        "num_workers": 2,
        "collate_fn": first,
        "pin_memory": False,
        "drop_last": True,
        "timeout": 7,
        "worker_init_fn": first,
        "generator": generator,
        "prefetch_factor": 3,
        "persistent_workers": True,
        "pin_memory_device": "",
        "in_order": False,
    }
    loader = make(dataset, **given)
    assert {name: getattr(loader, name) for name in given} == given
    assert loader.dataset is dataset
    assert loader.generator is generator
    assert loader.multiprocessing_context is None


def test_defaults_can_be_read(make):
    loader = make(Numbers(4), num_workers=0)
    assert (loader.batch_size, loader.num_workers, loader.timeout, loader.drop_last) == (1, 0, 0, False)
    assert (loader.pin_memory, loader.pin_memory_device, loader.persistent_workers) == (False, "", False)
    assert (loader.worker_init_fn, loader.generator, loader.prefetch_factor) == (None, None, None)
    assert loader.in_order is True
    assert loader.collate_fn is default_collate
    assert make(Numbers(4), batch_size=None).collate_fn is default_convert


@pytest.mark.parametrize(
    ("shuffle", "kind"), [(None, SequentialSampler), (False, SequentialSampler), (True, RandomSampler)]
)
def test_the_sampler_tells_whether_the_loader_shuffles(make, shuffle, kind):
    dataset, generator = Numbers(5), torch.Generator()
    loader = make(dataset, batch_size=2, shuffle=shuffle, drop_last=True, generator=generator)
    assert type(loader.sampler) is kind
    assert loader.sampler.data_source is dataset
    assert len(loader.sampler) == 5
    assert loader.sampler is loader.sampler
    assert type(loader.batch_sampler) is BatchSampler
    assert loader.batch_sampler.sampler is loader.sampler
    assert (loader.batch_sampler.batch_size, loader.batch_sampler.drop_last) == (2, True)
    assert len(loader.batch_sampler) == len(loader) == 2
    if shuffle:
        assert loader.sampler.generator is generator


def test_samplers_of_the_caller_are_what_is_read(make):
    sampler, batches = [2, 1], [[0], [1, 2]]
    by_id = make(Numbers(5), sampler=sampler)
    assert by_id.sampler is sampler
    assert by_id.batch_sampler.sampler is sampler
    by_batch = make(Numbers(5), batch_sampler=batches)
    assert by_batch.batch_sampler is batches
    assert isinstance(by_batch.sampler, SequentialSampler)
    assert (by_batch.batch_size, by_batch.drop_last) == (None, False)
    single = make(Numbers(5), batch_size=None, sampler=sampler)
    assert (single.batch_size, single.batch_sampler) == (None, None)
    assert single.sampler is sampler


@pytest.mark.parametrize(
    "name", ["dataset", "batch_size", "sampler", "batch_sampler", "drop_last", "persistent_workers"]
)
def test_what_cannot_be_set_is_refused(make, name):
    loader = make(Numbers(4), batch_size=2)
    before = getattr(loader, name)
    with pytest.raises(ValueError, match=name):
        setattr(loader, name, before)
    assert getattr(loader, name) is before or name in ("sampler", "batch_sampler")


def test_what_can_be_set_holds_from_the_next_iterator_on(kit):
    loader = kit.make(Numbers(4), batch_size=2)
    assert list(map(torch.Tensor.tolist, loader)) == [[0, 1], [2, 3]]
    loader.collate_fn = sum
    assert loader.collate_fn is sum
    assert list(loader) == [1, 5]
    loader.num_workers = 0
    loader.collate_fn = len
    assert loader.num_workers == 0
    assert list(loader) == [2, 2]
    loader.anything = "else"
    assert loader.anything == "else"


def test_all_others_of_torch_can_be_set_and_read_again(make):
    loader = make(Numbers(4), num_workers=1)
    values = {
        "num_workers": 2,
        "pin_memory": False,
        "prefetch_factor": 4,
        "timeout": 3,
        "worker_init_fn": first,
        "pin_memory_device": "",
        "in_order": False,
    }
    for name, value in values.items():
        setattr(loader, name, value)
    assert {name: getattr(loader, name) for name in values} == values
    loader.multiprocessing_context = "spawn"
    assert loader.multiprocessing_context.get_start_method() == "spawn"
    with pytest.raises(ValueError, match="multiprocessing_context"):
        loader.multiprocessing_context = "teleport"


def test_subclasses_may_have_attributes_of_their_own(make):
    class Mine(make):
        def __init__(self, *arguments, **named):
            super().__init__(*arguments, **named)
            self.mine = 3

    loader = Mine(Numbers(4), 2)
    loader.mine += 1
    assert (loader.mine, len(loader)) == (4, 2)
