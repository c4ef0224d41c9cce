"""Finished steps come in any order and leave in theirs."""

from __future__ import annotations

import contextlib
import queue
import sys
import time
from typing import TypeAlias

from headrace.engine.passage import Ending, Passage

Arrival: TypeAlias = Passage | Ending

INTERRUPT_POLL_S = 0.2 if sys.platform == "darwin" else None
"""On macOS a signal does not end a wait without a time limit; elsewhere it does, and nothing polls."""


class Arrivals:
    """Any thread puts, one thread at a time takes.

    Only the queue is shared; what arrives early is sorted by the taker alone, who waits without a lock of ours.
    """

    def __init__(self) -> None:
        self.queue: queue.SimpleQueue[Arrival | None] = queue.SimpleQueue()
        self.early: dict[int, Arrival] = {}
        self.next_position = 0

    def put(self, arrival: Arrival) -> None:
        """Sends one to the taker."""
        self.queue.put(arrival)

    def wake(self) -> None:
        """Has the taker, now or at his next turn, look whether there is still something to wait for."""
        self.queue.put(None)

    def take(self, until_s: float | None = None) -> Arrival | None:
        """Waits for the arrival whose turn it is; None when woken, or at this moment of `time.monotonic`."""
        while (arrival := self.early.pop(self.next_position, None)) is None:
            try:
                arrived = self.queue.get(timeout=INTERRUPT_POLL_S if until_s is None else left_s(until_s))
            except queue.Empty:
                if until_s is not None and left_s(until_s) == 0:
                    return None
                continue
            if arrived is None:
                return None
            self.early[arrived.position] = arrived
        self.next_position += 1
        return arrival

    def num_ready(self) -> int:
        """How many batches could be taken now, one after another, without a wait.

        For the taker alone.
        """
        with contextlib.suppress(queue.Empty):
            while (arrived := self.queue.get_nowait()) is not None:
                self.early[arrived.position] = arrived
            self.queue.put(None)  # `take` is to be woken, not this
        end = self.next_position
        while isinstance(self.early.get(end), Passage):
            end += 1
        return end - self.next_position

    def num_waiting(self) -> int:
        """How many have arrived and were not taken."""
        return self.queue.qsize() + len(self.early)

    def clear(self) -> None:
        """Drops what nobody will take, and wakes a taker."""
        self.early = {}
        dropped, self.queue = self.queue, queue.SimpleQueue()
        dropped.put(None)


def left_s(until_s: float) -> float:
    """How long a wait until a moment of `time.monotonic` may take at once."""
    left_s = max(0.0, until_s - time.monotonic())
    return left_s if INTERRUPT_POLL_S is None else min(left_s, INTERRUPT_POLL_S)
