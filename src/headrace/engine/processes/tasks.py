"""Steps on their way to the workers: one queue for all of them, from which whoever is free takes the next.

Where a step can only be made by one of them, each worker has a queue of its own. A queue is a pipe. It holds tickets of
32 bytes, far below what a pipe hands over in one piece, so a worker gets a whole ticket and no two get the same one;
the kernel wakes one worker for each. A ticket says where in shared memory its step lies. No process holds a lock while
it waits: one that is killed leaves nothing locked.
"""

from __future__ import annotations

import os
import pickle
import struct
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, NamedTuple

import cloudpickle

from headrace.contracts import Step
from headrace.engine.blocks import size_class
from headrace.engine.processes.board import NO_ITERATION, Board
from headrace.engine.processes.pipe import Pipe
from headrace.engine.processes.ranges import HEADER_BYTES, Range, Ranges
from headrace.engine.processes.windows import SharedFile

TICKET = struct.Struct("<qqqq")

MAX_TICKETS = 256
"""Steps of one iteration on their way at once. A pipe holds 2,048 tickets (16 KiB on macOS: 512): those of iterations
that were left while all workers were busy have room too."""


STEP_FIELDS = tuple(field.name for field in fields(Step))


class Ticket(NamedTuple):
    """Where a task lies."""

    iteration: int
    position: int
    offset: int
    size_bytes: int


class Task(NamedTuple):
    """A step, and when it was given away (clock of `perf_counter`, which is the same for all processes)."""

    step: Step
    given_s: float


class Laid(NamedTuple):
    """A task that is written down."""

    place: Range
    size_bytes: int


class TaskQueue:
    """The trainer's end.

    Args:
        ranges: Where the steps lie.
        pipes: The pipe of tickets of all workers, or one for each of them.
    """

    def __init__(self, ranges: Ranges, pipes: Sequence[Pipe]) -> None:
        self.ranges = ranges
        self.pipes = pipes

    def lay(self, task: Task) -> Laid:
        """Writes a task down. Its range is to be given back when its batch has come, or is not wanted any more."""
        # A sampler's keys may be of a class that only this program knows; numbers need no such care.
        dumps = pickle.dumps if task.step.keys is None else cloudpickle.dumps
        data = dumps((parts_of(task.step), task.given_s), protocol=5)
        place = self.ranges.make(size_class(len(data)))
        start = place.offset - place.window.start + HEADER_BYTES
        place.window.pages[start : start + len(data)] = data
        return Laid(place, len(data))

    def offer(self, iteration: int, position: int, laid: Laid, worker: int = 0) -> None:
        """Offers a task to all workers, or to this one where each has a queue of its own."""
        pipe = self.pipes[worker % len(self.pipes)]
        os.write(pipe.write_end, TICKET.pack(iteration, position, laid.place.offset, laid.size_bytes))

    def call_to_rest(self) -> None:
        """Tells each worker, where each has a queue of its own, that nothing of the iteration is wanted any more."""
        for pipe in self.pipes:
            os.write(pipe.write_end, TICKET.pack(NO_ITERATION, 0, 0, 0))


class TaskTaker:
    """A worker's end.

    Args:
        file: The trainer's file of steps.
        pipe: Read end of the pipe of tickets.
        board: Tells which iteration is under way.
    """

    def __init__(self, file: SharedFile, pipe: int, board: Board) -> None:
        self.file = file
        self.pipe = pipe
        self.board = board

    def take(self) -> Ticket | None:
        """Waits for the next ticket; None when the trainer has closed the queue."""
        data = os.read(self.pipe, TICKET.size)
        return Ticket(*TICKET.unpack(data)) if data else None

    def read(self, ticket: Ticket) -> Task | None:
        """The task of a ticket; None where its iteration has ended, also while it is being read."""
        try:
            data = self.file.array(ticket.offset + HEADER_BYTES, ticket.size_bytes).tobytes()
            parts, given_s = pickle.loads(data)  # noqa: S301 - from the process that started this one
        except Exception:
            if self.board.is_wanted(ticket.iteration):
                raise
            return None  # another iteration has taken the place meanwhile
        return Task(Step(**parts), given_s) if self.board.is_wanted(ticket.iteration) else None


def parts_of(step: Step) -> dict[str, Any]:
    """The fields of a step: pickled so, it takes a third of the time of a dataclass with slots."""
    return {name: getattr(step, name) for name in STEP_FIELDS}
