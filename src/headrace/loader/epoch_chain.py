"""Epoch after epoch in one stream of the engine: one begins while the last batches of the other are delivered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from headrace.contracts import BatchStream, Delivered, Step
from headrace.loader.place import Place
from headrace.loader.steps import StepSource


class EpochChain:
    """Streams that go on behind the end of an epoch, and the one that waits there for the next iterator.

    Args:
        steps: Whose steps can be asked for before anybody iterates over them (`StepSource.can_be_foreseen`).
        open_stream: Begins to make the batches of these steps.
    """

    def __init__(self, steps: StepSource, open_stream: Callable[[Iterator[Step]], BatchStream]) -> None:
        self.steps = steps
        self.open_stream = open_stream
        self.parked: tuple[Place, int, BatchStream] | None = None
        """The next place of a stream, the process that it belongs to, and the stream."""
        self.num_legs = 0
        """Only the last leg may park its stream: the streams of others have been closed."""

    def leg(self, place: Place) -> Leg:
        """The batches from a place to the end of its epoch: of the stream that waits there, or else of a new one."""
        parked = self.parked
        self.end()
        if parked is not None and parked[:2] == (place, os.getpid()):
            stream = parked[2]
        else:
            stream = self.open_stream(endless(self.steps, place))
        return Leg(stream, self.steps.num_left(place), self, place.next_epoch())

    def end(self) -> None:
        """No leg that there is parks its stream any more, and the one that waits is let go."""
        self.parked = None
        self.num_legs += 1

    def park(self, place: Place, stream: BatchStream) -> None:
        """Keeps a stream whose next batch is the first one after this place."""
        self.parked = place, os.getpid(), stream


class Leg(Iterator[Delivered]):
    """The batches of one epoch out of a stream that goes on. Dropping it before its end ends the work behind it."""

    def __init__(self, stream: BatchStream, num_left: int, chain: EpochChain, following: Place) -> None:
        self.stream: BatchStream | None = stream
        self.num_left = num_left
        self.chain = chain
        self.following = following
        self.number = chain.num_legs

    def __next__(self) -> Delivered:
        if self.stream is None:
            raise StopIteration
        if self.num_left or self.number != self.chain.num_legs:
            delivered = next(self.stream)
            self.num_left -= 1
            return delivered
        stream, self.stream = self.stream, None
        self.chain.park(self.following, stream)
        raise StopIteration


def endless(source: StepSource, place: Place) -> Iterator[Step]:
    """Steps from a place on, one epoch after another; an epoch without a step is the last one.

    It does not know the chain: who pulls steps must not keep alive what waits to be dropped.
    """
    is_empty = False
    while not is_empty:
        is_empty = place.is_beginning
        for step in source.steps(place):
            is_empty = False
            yield step
        place = place.next_epoch()
