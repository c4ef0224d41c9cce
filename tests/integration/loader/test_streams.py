"""Loaders over streams in this process: ranks, copies, what is said."""

from __future__ import annotations

import pickle
import warnings
from contextlib import closing
from itertools import islice

import pytest
import torch
from torch.utils.data import ChainDataset

import headrace as hr
from headrace.errors import OptionError, OrderError
from tests.streams import Naive, Resumable, Sized, Unsized, in_turns, parts_of

SAMPLES = list(range(11))


def loader_of(dataset, rank=0, world_size=1, **options):
    topology = hr.Topology(rank=rank, world_size=world_size)
    return hr.DataLoader(dataset, **{"batch_size": 2, "num_workers": 0, "topology": topology} | options)


def lists(batches):
    return [batch.tolist() for batch in batches]


class Understating(Sized):
    """Has more than it says."""

    def __len__(self):
        return len(self.samples) // 2


def test_what_a_length_has_not_told_of_is_left_out_with_a_warning_so_that_ranks_stay_even():
    for rank in range(2):
        loader = loader_of(Understating(list(range(16))), rank, 2)
        with pytest.warns(UserWarning, match=f"rank {rank} has more samples than the lengths of its parts say"):
            assert len(list(loader)) == 2
        dropping = loader_of(Understating(list(range(16))), rank, 2, tail="drop")
        assert len(list(dropping)) == 2, "to leave some out is what was asked for"


@pytest.mark.parametrize("workers", [{"num_workers": 0}, {"num_workers": 2, "engine": "threads"}])
def test_streams_whose_last_batch_is_full_end_on_ranks_too(workers):
    """That they have ended is only known when they are asked once more."""
    for rank in range(2):
        with closing(loader_of(Sized(list(range(24))), rank, 2, batch_size=3, **workers)) as loader:
            assert len(list(loader)) == len(list(loader)) == 4
            assert loader.valid.all()


@pytest.mark.parametrize(("num", "batch_size", "is_told"), [(40, 8, True), (15, 2, True), (9, 4, False)])
def test_batches_that_streams_drop_between_them_are_told_of_once(num, batch_size, is_told):
    """Ten workers with 100 samples each would make no batch of 128: as in torch, but not in silence."""
    dataset = Sized(list(range(num)))
    how = {"batch_size": batch_size, "num_workers": 6 if is_told else 2, "engine": "threads", "drop_last": True}
    with warnings.catch_warnings(record=True) as caught, closing(loader_of(dataset, **how)) as loader:
        warnings.simplefilter("always")
        delivered = [sum(len(batch) for batch in loader) for _ in range(2)]
    told = [str(one.message) for one in caught if "drop_last" in str(one.message)]
    assert len(told) == is_told
    if is_told:
        assert f"has left out {num - delivered[0]} samples" in told[0]
        assert num - delivered[0] >= batch_size


class Overstating(Sized):
    """Has less than it says."""

    def __len__(self):
        return len(self.samples) + 4


def test_a_rank_that_has_less_than_it_said_repeats_its_batches():
    loader = loader_of(Overstating(SAMPLES), 0, 2)
    assert len(loader) == 5
    found = [(batch.tolist(), loader.valid.tolist()) for batch in loader]
    assert [batch for batch, _ in found] == [[0, 2], [4, 6], [8, 10], [0, 2], [4, 6]]
    assert [all(valid) for _, valid in found] == [True] * 3 + [False] * 2


def test_a_rank_without_samples_is_refused_before_a_step_on_all_ranks():
    for rank in range(2):
        with pytest.raises(OrderError, match="no sample to repeat"):
            next(iter(loader_of(Sized([1]), rank, 2)))
        assert list(loader_of(Sized([1]), rank, 2, tail="drop")) == []


def test_a_copy_starts_where_the_next_iterator_would():
    loader = loader_of(Resumable(SAMPLES))
    expected = in_turns([SAMPLES], 2)
    begun = lists(islice(loader, 2))
    loader.load_state_dict(loader.state_dict())
    copy = pickle.loads(pickle.dumps(loader))
    assert begun + lists(copy) == begun + lists(loader) == expected


def test_a_state_belongs_to_its_rank():
    loader = loader_of(Unsized(SAMPLES), 0, 2)
    next(iter(loader))
    with pytest.raises(OrderError, match=r"rank differs.*Each rank saves a state of its own"):
        loader_of(Unsized(SAMPLES), 1, 2).load_state_dict(loader.state_dict())
    with pytest.raises(OrderError, match="world_size differs"):
        loader_of(Unsized(SAMPLES)).load_state_dict(loader.state_dict())


def test_explain_says_who_splits_and_whether_ranks_stay_even():
    even = loader_of(Sized(SAMPLES), 0, 2).explain()
    assert "2 parts over ranks and streams (by shard() of the dataset)" in even
    assert "3 on every rank (tail pad, by the lengths of the parts)" in even
    uneven = loader_of(Unsized(SAMPLES), 0, 2).explain()
    assert "as many as a rank finds, perhaps unequal (parts without __len__" in uneven
    naive = loader_of(Naive(3), 0, 2).explain()
    assert "by the dataset itself, if at all (it has no shard(index, count)" in naive
    assert "else by reading again" in naive

    class Misnamed(Unsized):
        def shard(self, i, n):
            raise AssertionError("not called")

    assert "if at all (its shard() does not take index= and count=" in loader_of(Misnamed(SAMPLES), 0, 2).explain()


@pytest.mark.parametrize(
    "arguments",
    [{"accumulate": 2}, {"window_samples": 5}, {"canonical_nodes": 2}, {"on_error": "skip"}, {"extras": "index"}],
)
def test_what_needs_to_know_the_samples_is_refused_by_name(arguments):
    with pytest.raises(OptionError, match=f"iterated over excludes {next(iter(arguments))}"):
        loader_of(Unsized(SAMPLES), **arguments)


def test_peek_is_refused_and_valid_may_be_had():
    loader = loader_of(Unsized([torch.tensor([1.0])]), extras="valid")
    with pytest.raises(OptionError, match="would move the sampler or the stream"):
        loader.peek()
    ((_, valid),) = loader
    assert valid.tolist() == [True]


def test_streams_end_alike_with_an_engine_that_is_closed_in_the_midst():
    with closing(loader_of(Unsized(list(range(100))), num_workers=3, engine="threads")) as loader:
        iterator = iter(loader)
        begun = lists(islice(iterator, 4))
        assert begun == in_turns(parts_of(list(range(100)), 3), 2)[:4]
    assert lists(islice(loader, 1)) == [[0, 3]]
    loader.close()


def test_a_length_that_is_none_is_no_length():
    class Chained(ChainDataset):
        def shard(self, index, count):
            return Chained(self.datasets)

    loader = loader_of(Chained([Naive(2), Naive(3)]))
    assert len(loader) == 3
    assert len(list(loader)) == 3
    loader = loader_of(Chained([Unsized([1]), Unsized([2])]), 0, 2)
    assert "perhaps unequal" in loader.explain()
