"""Streams that another engine goes on with."""

from __future__ import annotations

import threading
from itertools import islice

import pytest

from headrace.loader.place import Place
from headrace.loader.relay import Relay


class Relief:
    """Goes on from a place, once it is told to."""

    def __init__(self):
        self.asked = []
        self.is_there = False

    def __call__(self, place):
        self.asked.append(place.batches)
        return iter([("relief", number) for number in range(place.batches, 5)]) if self.is_there else None


def first(count=5, start=0):
    return iter([("first", number) for number in range(start, count)])


@pytest.mark.parametrize("border", range(6))
def test_another_engine_goes_on_where_the_first_one_stands(border):
    relief = Relief()
    relay = Relay(first(), Place(), relief)
    seen = list(islice(relay, border))
    relief.is_there = True
    assert seen + list(relay) == [("first", n) for n in range(border)] + [("relief", n) for n in range(border, 5)]
    assert relief.asked == list(range(border + 1)), "before each batch, and not again"


def test_a_stream_that_begins_in_the_middle_counts_from_there():
    relief = Relief()
    relay = Relay(first(start=2), Place(epoch=3, batches=2), relief)
    assert len(list(relay)) == 3
    assert relief.asked == [2, 3, 4, 5]


def test_what_has_ended_or_failed_does_not_go_on_elsewhere():
    def failing():
        yield "first"
        raise ValueError("broken")

    for stream, error in ((failing(), ValueError), (first(1), StopIteration)):
        relief = Relief()
        relay = Relay(stream, Place(), relief)
        next(relay)
        with pytest.raises(error):
            next(relay)
        relief.is_there = True
        with pytest.raises(StopIteration):
            next(relay)
        assert relief.asked == [0, 1]


def test_several_threads_take_each_batch_once():
    relief, seen = Relief(), []
    relay = Relay(first(), Place(), relief)

    def take():
        for batch in relay:
            seen.append(batch[1])
            relief.is_there = len(seen) > 2

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seen) == list(range(5))
