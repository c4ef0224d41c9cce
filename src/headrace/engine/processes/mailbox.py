"""The finished steps of an iteration, as workers send them: read by the consumer himself, who waits for them anyway."""

from __future__ import annotations

import contextlib
import queue
import sys
from collections.abc import Callable

from headrace.engine.arrivals import Arrival, Arrivals
from headrace.engine.passage import Ending
from headrace.engine.processes.crew import Crew
from headrace.engine.processes.member import Member
from headrace.engine.processes.messages import Message
from headrace.engine.processes.pipe import Bell

Hear = Callable[[Member, Message], Arrival | None]
Lose = Callable[[Member], Arrival]


class Mailbox(Arrivals):
    """Arrivals from processes, and from this one, where any thread may put."""

    def __init__(self, crew: Crew, hear: Hear, lose: Lose) -> None:
        super().__init__()
        self.crew = crew
        self.on_message = hear
        self.on_loss = lose
        self.bell = Bell()

    def put(self, arrival: Arrival) -> None:
        """Sends one to the taker."""
        super().put(arrival)
        self.bell.ring()

    def wake(self) -> None:
        """Has the taker, now or at his next turn, look whether there is still something to wait for."""
        self.bell.ring()

    def take(self, until_s: float | None = None) -> Arrival | None:
        """Waits for the arrival whose turn it is; None when woken, or at this moment of `time.monotonic`."""
        while (arrival := self.early.pop(self.next_position, None)) is None:
            if not self.sort_in() and not self.crew.listen(self, until_s):
                self.bell.hush()
                if not self.sort_in():
                    return None
        self.next_position += 1
        return arrival

    def sort_in(self) -> bool:
        """Sorts in what this process has put; tells whether there was something."""
        some = False
        with contextlib.suppress(queue.Empty):
            while (arrival := self.queue.get_nowait()) is not None:
                self.keep(arrival)
                some = True
        return some

    def keep(self, arrival: Arrival) -> None:
        """Sorts in; the first that comes for a place has it."""
        self.early.setdefault(arrival.position, arrival)

    def hear(self, member: Member, message: Message) -> None:
        """From the crew: a worker has sent something."""
        arrival = self.on_message(member, message)
        if arrival is not None:
            self.keep(arrival)

    def lose(self, member: Member) -> None:
        """From the crew: a worker has ended."""
        self.keep(self.on_loss(member))

    def first_gap(self) -> int:
        """The first position from which nothing has come."""
        position = self.next_position
        while position in self.early:
            position += 1
        return position

    def clear(self) -> None:
        """Drops what nobody will take, and wakes a taker."""
        super().clear()
        self.on_message, self.on_loss = hear_nothing, lose_nothing
        self.wake()


def hear_nothing(_: Member, __: Message) -> None:
    """When nobody listens any more."""


def lose_nothing(_: Member) -> Arrival:
    """The same, for a worker that has ended."""
    return Ending(sys.maxsize)
