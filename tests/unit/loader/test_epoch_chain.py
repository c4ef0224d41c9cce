"""Streams that go on behind the end of an epoch, over an engine that makes what it is asked for."""

from __future__ import annotations

import gc
import weakref
from itertools import islice

import numpy as np
import pytest

from headrace.contracts import Delivered, Step
from headrace.loader import epoch_chain
from headrace.loader.epoch_chain import EpochChain
from headrace.loader.place import Place


class Steps:
    """Epochs of these many steps, the last number for ever."""

    can_be_foreseen = True

    def __init__(self, *counts):
        self.counts = counts

    def num_steps(self, epoch):
        return self.counts[min(epoch, len(self.counts) - 1)]

    def num_left(self, place):
        return self.num_steps(place.epoch) - place.batches

    def steps(self, place):
        none = np.zeros(0, dtype=np.int64)
        for index in range(place.batches, self.num_steps(place.epoch)):
            yield Step(index=index, epoch=place.epoch, ids=none, valid=none.astype(bool))


class Stream:
    def __init__(self, steps):
        self.steps = steps

    def __iter__(self):
        return self

    def __next__(self):
        step = next(self.steps)
        return Delivered(step=step, batch=(step.epoch, step.index))

    def close(self):
        self.steps = iter(())


class Opener:
    """Remembers its streams without keeping them."""

    def __init__(self):
        self.opened = []

    def __call__(self, steps):
        stream = Stream(steps)
        self.opened.append(weakref.ref(stream))
        return stream

    @property
    def num_alive(self):
        gc.collect()
        return sum(stream() is not None for stream in self.opened)


def batches(leg):
    return [delivered.batch for delivered in leg]


def test_an_epoch_goes_on_in_the_stream_of_the_one_before():
    opener = Opener()
    chain = EpochChain(Steps(3, 2, 4), opener)
    place = Place(batches=1)
    for expected in ([(0, 1), (0, 2)], [(1, 0), (1, 1)], [(2, 0), (2, 1), (2, 2), (2, 3)]):
        assert batches(chain.leg(place)) == expected
        place = place.next_epoch()
    assert len(opener.opened) == opener.num_alive == 1


@pytest.mark.parametrize("place", [Place(), Place(epoch=2), Place(epoch=1, batches=1), Place(epoch=1, start=4)])
def test_another_place_than_the_one_that_follows_opens_a_stream(place):
    opener = Opener()
    chain = EpochChain(Steps(3), opener)
    batches(chain.leg(Place()))
    assert batches(chain.leg(place)) == [(place.epoch, index) for index in range(place.batches, 3)]
    assert len(opener.opened) == 2
    assert opener.num_alive == 1


def test_a_leg_that_is_dropped_drops_its_stream():
    opener = Opener()
    chain = EpochChain(Steps(3), opener)
    assert next(chain.leg(Place())).batch == (0, 0)
    assert opener.num_alive == 0
    batches(chain.leg(Place()))
    assert opener.num_alive == 1
    chain.end()
    assert opener.num_alive == 0


def test_a_leg_that_was_replaced_at_its_last_batch_parks_nothing():
    opener = Opener()
    chain = EpochChain(Steps(3), opener)
    stale = chain.leg(Place())
    list(islice(stale, 3))
    chain.leg(Place(epoch=7))
    next(stale)  # what its stream says: a real one has been closed by then
    assert chain.parked is None


@pytest.mark.parametrize("counts", [(0,), (2, 0), (0, 0, 3)])
def test_an_epoch_without_a_step_ends_the_stream(counts):
    chain = EpochChain(Steps(*counts), Opener())
    assert batches(chain.leg(Place())) == [(0, index) for index in range(counts[0])]
    assert batches(chain.leg(Place(epoch=1))) == []


def test_the_rest_of_an_epoch_may_be_empty():
    opener = Opener()
    chain = EpochChain(Steps(2), opener)
    assert batches(chain.leg(Place(batches=2))) == []
    assert batches(chain.leg(Place(epoch=1))) == [(1, 0), (1, 1)]
    assert len(opener.opened) == 1


def test_a_forked_process_does_not_go_on_with_the_stream_of_its_parent(monkeypatch):
    opener = Opener()
    chain = EpochChain(Steps(2), opener)
    batches(chain.leg(Place()))
    monkeypatch.setattr(epoch_chain.os, "getpid", lambda: -1)
    assert batches(chain.leg(Place(epoch=1))) == [(1, 0), (1, 1)]
    assert len(opener.opened) == 2
