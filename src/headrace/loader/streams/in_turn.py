"""Streams that several threads read: the turns of each one after another, in their order."""

from __future__ import annotations

import threading
from typing import Any

from headrace.contracts import Allocate, Step
from headrace.errors import LoaderClosedError
from headrace.loader.streams.turns import Read, Turn
from headrace.loader.streams.work import StreamWork


class InTurn:
    """A work whose steps any thread may take, as long as threads take them in the order of the steps.

    A thread waits where another one still reads the same stream. It never waits for a step that nobody has taken: those
    before its own are taken, and the first of them waits for nobody.
    """

    def __init__(self, work: StreamWork) -> None:
        self.work = work
        self.changed = threading.Condition()
        self.run_number = -1
        self.done: dict[int, int] = {}
        """Stream -> its turns that are over in this run."""

    def size_bytes(self, step: Step) -> int | None:
        """As the work estimates it."""
        return self.work.size_bytes(step)

    def fetch(self, step: Step, allocate: Allocate) -> None:
        """Nothing: the dataset reads for itself."""

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Read:
        """The batch of a step, when its turn has come."""
        turn: Turn = step.task
        with self.changed:
            if turn.run < self.run_number:
                raise LoaderClosedError("a later iteration reads these streams")  # nobody waits for this step any more
            if turn.run > self.run_number:
                self.run_number, self.done = turn.run, {}
            self.changed.wait_for(lambda: self._has_come(turn))
        try:
            return self.work.run(step, fetched, allocate)
        finally:
            with self.changed:
                if turn.run == self.run_number:
                    self.done[turn.stream] = turn.number + 1
                self.changed.notify_all()

    def release(self) -> None:
        """Closes all streams."""
        self.work.release()

    def _has_come(self, turn: Turn) -> bool:
        return turn.run != self.run_number or self.done.get(turn.stream, 0) == turn.number
