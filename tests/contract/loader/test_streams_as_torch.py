"""The same iterable dataset through torch's loader and through ours."""

from __future__ import annotations

import warnings
from contextlib import closing

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from torch.utils.data.datapipes.iter import IterableWrapper

import headrace as hr
from tests.streams import Failing, Naive, SelfSplitting

pytestmark = pytest.mark.filterwarnings("ignore:drop_last has left out")

UNEVEN = SelfSplitting([11, 3, 0, 7])
HOW = [(None, False), (1, False), (4, False), (4, True)]


def torchs(dataset, **options):
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "This DataLoader will create")
        return list(DataLoader(dataset, **options))


def ours(dataset, **options):
    with closing(hr.DataLoader(dataset, **options)) as loader:
        return list(loader)


def equal(one, other):
    return type(one) is type(other) and (torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other)


def same(found, expected):
    return len(found) == len(expected) and all(map(equal, found, expected))


@pytest.mark.parametrize(
    ("num_workers", "batch_size", "drop_last"),
    [(1, 4, False), (2, 4, False), *((num_workers, *how) for num_workers in (0, 3) for how in HOW)],
)
def test_batches_of_streams_that_split_themselves(num_workers, batch_size, drop_last):
    options = {"num_workers": num_workers, "batch_size": batch_size, "drop_last": drop_last}
    assert same(ours(UNEVEN, **options), torchs(UNEVEN, **options))


class Told(IterableDataset):
    """Tells what `get_worker_info` tells."""

    def __init__(self):
        self.first = 0

    def __iter__(self):
        info = get_worker_info()
        assert info.dataset is self
        yield from ((info.id, info.num_workers, self.first + number) for number in range(3))


def set_up(number):
    info = get_worker_info()
    assert info.id == number
    info.dataset.first = 10 * number


@pytest.mark.parametrize("batch_size", [None, 2])
def test_worker_init_fn_changes_the_workers_own_copy(batch_size):
    dataset = Told()
    options = {"num_workers": 2, "batch_size": batch_size, "worker_init_fn": set_up, "collate_fn": list}
    assert ours(dataset, **options) == torchs(dataset, **options)
    assert dataset.first == 0


class Counting(IterableDataset):
    """Counts how often it was iterated over, and tells it."""

    def __init__(self):
        self.num = 0

    def __iter__(self):
        self.num += 1
        yield self.num


@pytest.mark.parametrize("persistent", [False, True])
def test_workers_are_as_new_in_each_epoch_unless_they_are_persistent(persistent):
    def epochs(kind):
        dataset = Counting()
        loader = kind(dataset, batch_size=None, num_workers=1, persistent_workers=persistent)
        found = [list(loader) for _ in range(2)]
        dataset.num = 10  # what is changed here reaches workers that are new
        return [*found, list(loader), dataset.num], loader

    (found, loader), (expected, _) = epochs(hr.DataLoader), epochs(DataLoader)
    loader.close()
    assert found == expected


def test_the_callers_thread_iterates_over_the_dataset_itself():
    dataset = Counting()
    with closing(hr.DataLoader(dataset, batch_size=None, num_workers=0)) as loader:
        assert [list(loader), list(loader)] == [[1], [2]]
    assert dataset.num == 2


@pytest.mark.parametrize("num_workers", [0, 2])
def test_an_exception_comes_at_its_place(num_workers):
    dataset = Failing(worker=0 if num_workers == 0 else 1, at=5)

    def until_it_raises(kind):
        loader, found = kind(dataset, batch_size=2, num_workers=num_workers), []
        with pytest.raises(KeyError, match="nothing at 5") as caught:
            found.extend(batch.tolist() for batch in loader)
        return loader, found, caught.value

    loader, found, error = until_it_raises(hr.DataLoader)
    loader.close()
    assert found == until_it_raises(DataLoader)[1]
    assert any("of Failing, in the batch behind its first 4 samples" in note for note in error.__notes__)


@pytest.mark.parametrize(("batch_size", "drop_last"), HOW)
def test_len_is_what_torch_computes(batch_size, drop_last):
    dataset, options = Naive(10), {"batch_size": batch_size, "drop_last": drop_last, "num_workers": 0}
    assert len(hr.DataLoader(dataset, **options)) == len(DataLoader(dataset, **options))


def test_without_a_length_len_is_a_type_error_as_in_torch():
    for kind in (DataLoader, hr.DataLoader):
        with pytest.raises(TypeError, match="has no len"):
            len(kind(UNEVEN, num_workers=0))


def test_more_samples_than_the_length_are_warned_of_once_somebody_has_asked_for_it():
    for kind in (DataLoader, hr.DataLoader):
        loader = kind(Naive(3), batch_size=1, num_workers=0)
        assert len(loader) == 3
        loader.dataset.__class__ = Longer
        with pytest.warns(UserWarning, match="was reported to be 3.*len.*, but 4 samples have been fetched") as told:
            assert len(list(loader)) == 4
        assert len(told) == 1


class Longer(Naive):
    def __iter__(self):
        return iter(range(self.num + 1))

    def __len__(self):
        return self.num


@pytest.mark.parametrize("arguments", [{"shuffle": True}, {"sampler": [0, 1]}, {"batch_sampler": [[0, 1]]}])
def test_what_says_the_order_is_refused_as_in_torch(arguments):
    for kind in (DataLoader, hr.DataLoader):
        with pytest.raises(ValueError, match=next(iter(arguments))):
            kind(UNEVEN, **arguments)
    assert ours(UNEVEN, shuffle=False, num_workers=0, batch_size=11)[0].tolist() == list(range(11))


def test_drop_last_without_batches_is_refused_as_in_torch():
    for kind in (DataLoader, hr.DataLoader):
        with pytest.raises(ValueError, match="drop_last"):
            kind(UNEVEN, batch_size=None, drop_last=True)


def test_samples_that_are_not_batched_are_converted_as_torch_does():
    class Arrays(IterableDataset):
        def __iter__(self):
            import numpy as np

            yield {"array": np.arange(3), "text": "a", "list": [np.float32(1.5)]}

    (found,), (expected,) = (load(Arrays(), batch_size=None, num_workers=0) for load in (ours, torchs))
    assert torch.equal(found["array"], expected["array"])
    assert found["list"] == expected["list"]
    assert found["text"] == "a"
    assert ours(Arrays(), batch_size=None, num_workers=0, collate_fn=sorted) == [["array", "list", "text"]]


def plus_one(number):
    return number + 1


@pytest.mark.parametrize("num_workers", [0, 2])
def test_data_pipes_are_set_up_as_torch_does(num_workers):
    def pipe():
        return IterableWrapper(range(20)).map(plus_one).shuffle().sharding_filter()

    options = {"batch_size": 3, "num_workers": num_workers}
    assert same(ours(pipe(), shuffle=False, **options), torchs(pipe(), shuffle=False, **options))
    with closing(hr.DataLoader(pipe(), shuffle=True, **options)) as loader:
        epochs = [torch.cat(list(loader)).tolist() for _ in range(2)]
    assert epochs[0] != epochs[1]
    assert [sorted(epoch) for epoch in epochs] == [list(range(1, 21))] * 2


def test_samplers_to_be_read_are_those_of_torch():
    for batch_size in (None, 3):
        found, expected = (kind(UNEVEN, batch_size=batch_size) for kind in (hr.DataLoader, DataLoader))
        assert type(found.sampler) is type(expected.sampler)
        assert type(found.batch_sampler) is type(expected.batch_sampler)


def test_another_number_of_workers_may_be_set_between_epochs():
    with closing(hr.DataLoader(UNEVEN, batch_size=4, num_workers=0)) as loader:
        assert len(list(loader)) == 3
        loader.num_workers = 2
        assert same(list(loader), torchs(UNEVEN, batch_size=4, num_workers=2))


def test_a_dataset_without_a_length_is_asked_where_a_sampler_says_what_there_is():
    class Both:
        def __iter__(self):
            return iter((1, 2))

        def __getitem__(self, key):
            return 10 * key

    found, expected = (list(kind(Both(), sampler=[3, 4], num_workers=0)) for kind in (hr.DataLoader, DataLoader))
    assert same(found, expected)
    assert same(ours(Both(), num_workers=0), [torch.tensor([1]), torch.tensor([2])])
