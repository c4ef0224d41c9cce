"""Streams come in their turns, each sample once, from any place, whoever reads them."""

from __future__ import annotations

import json
from contextlib import closing
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import headrace as hr
from tests.streams import Resumable, ResumableIterators, Sized, Unsized, in_turns, parts_of

pytestmark = pytest.mark.filterwarnings("ignore:drop_last has left out")

KINDS = [Unsized, Sized, Resumable, ResumableIterators]


def loader_of(dataset, num_streams, batch_size, **options):
    workers = {"num_workers": 0} if num_streams == 0 else {"num_workers": num_streams, "engine": "threads"}
    return hr.DataLoader(dataset, batch_size=batch_size, **workers, **options)


def lists(batches):
    return [batch.tolist() for batch in batches]


@given(
    num=st.integers(0, 23),
    num_streams=st.integers(0, 4),
    batch_size=st.integers(1, 5),
    drop_last=st.booleans(),
    kind=st.sampled_from(KINDS),
)
@settings(max_examples=60, deadline=None)
def test_batches_come_in_turns_epoch_after_epoch(num, num_streams, batch_size, drop_last, kind):
    samples = list(range(num))
    expected = in_turns(parts_of(samples, max(1, num_streams)), batch_size, drop_last=drop_last)
    with closing(loader_of(kind(samples), num_streams, batch_size, drop_last=drop_last)) as loader:
        assert lists(loader) == expected
        assert lists(loader) == expected
        if kind is Sized:
            assert len(loader) == len(expected)


@given(
    num=st.integers(1, 17),
    num_streams=st.integers(0, 3),
    batch_size=st.integers(1, 4),
    cut=st.integers(0, 20),
    kind=st.sampled_from(KINDS),
    again=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_a_state_goes_on_behind_what_was_delivered(num, num_streams, batch_size, cut, kind, again):
    """Also from a second state that was taken before anything was read, and into the next epoch."""
    samples = list(range(num))
    expected = in_turns(parts_of(samples, max(1, num_streams)), batch_size)
    with closing(loader_of(kind(samples), num_streams, batch_size)) as loader:
        begun = lists(islice(iter(loader), min(cut, len(expected))))  # the end itself would end the epoch
        state = json.loads(json.dumps(loader.state_dict()))
    with closing(loader_of(kind(samples), num_streams, batch_size)) as loader:
        loader.load_state_dict(state)
        if again:
            assert loader.state_dict() == state
        assert loader.step == len(begun)
        assert begun + lists(loader) == expected
        assert loader.epoch == 0
        assert lists(loader) == expected
        assert loader.epoch == 1


@pytest.mark.parametrize("num_streams", [0, 2])
def test_at_every_step_the_dataset_is_not_read_again_where_it_says_where_it_stands(num_streams):
    samples = list(range(13))
    expected = in_turns(parts_of(samples, max(1, num_streams)), 2)
    for cut in range(len(expected) + 1):
        with closing(loader_of(Counted(samples), num_streams, 2)) as loader:
            assert lists(islice(iter(loader), cut)) == expected[:cut]
            state = loader.state_dict()
        counted = Counted(samples)
        with closing(loader_of(counted, num_streams, 2)) as loader:
            loader.load_state_dict(state)
            assert lists(loader) == expected[cut:]
        assert sum(part.num_read for part in counted.parts) == 13 - sum(map(len, expected[:cut]))


class Counted(Resumable):
    """Keeps the parts that were made of it."""

    def __init__(self, samples):
        super().__init__(samples)
        self.parts = []

    def shard(self, index, count):
        self.parts.append(Resumable(self.samples[index::count]))
        return self.parts[-1]
