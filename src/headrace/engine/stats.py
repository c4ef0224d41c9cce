"""Times and counts what the stages of a loader do: the `Recorder` of contracts.py."""

from __future__ import annotations

import threading
import time
from typing import Any, Literal, TypeAlias, get_args

from headrace._base.forks import renew_after_fork
from headrace.contracts import Recorder
from headrace.engine.events import EVENTS
from headrace.engine.meters import Meters, StageMeter
from headrace.engine.snapshot import StatsSnapshot
from headrace.errors import OptionError

Scope: TypeAlias = Literal["epoch", "total"]


class Stats:
    """Measurements of one loader, of the running epoch and of all together. Safe from any thread.

    Where it is sent to a worker process, with the work that measures, it becomes that process's recorder, whose
    measurements come back with each batch.
    """

    def __init__(self) -> None:
        self.epoch = Meters(time.perf_counter())
        self.earlier = Meters(self.epoch.started_s)
        self.pauses = StageMeter()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Another thread may have held the lock when this process was forked off."""
        self.lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return recorder_here, ()

    def add(self, stage: str, busy_s: float, *, items: int = 1, size_bytes: int = 0) -> None:
        """Records one piece of work of a stage that took `busy_s` seconds."""
        with self.lock:
            meter = self.epoch.stages[stage]
            meter.busy.add(busy_s)
            meter.items += items
            meter.size_bytes += size_bytes

    def wait(self, stage: str, waited_s: float) -> None:
        """Records that a stage waited for `waited_s` seconds."""
        with self.lock:
            self.epoch.stages[stage].waiting.add(waited_s)

    def count(self, event: str, num: int = 1) -> None:
        """Counts an event."""
        with self.lock:
            self.epoch.counts[event] += num

    def fill(self, queue: str, num: int, capacity: int) -> None:
        """Records how full a queue is at this moment."""
        with self.lock:
            self.epoch.queues[queue].add(num, capacity)

    def pause(self, pause_s: float) -> None:
        """Records a collection of garbage as stage "gc".

        Called inside of it, and so perhaps by the thread that holds the lock: it takes none. There is one collection at
        a time.
        """
        self.pauses.busy.add(pause_s)
        self.pauses.items += 1

    def take_pauses(self) -> None:
        """Moves the collections up to now into the present epoch. The lock is held."""
        pauses, self.pauses = self.pauses, StageMeter()
        if pauses.items:
            self.epoch.stages["gc"].merge(pauses)

    def begin_epoch(self) -> None:
        """Starts a new epoch: what was measured so far counts in the total only."""
        with self.lock:
            self.take_pauses()
            self.earlier.merge(self.epoch)
            self.epoch = Meters(time.perf_counter())

    def snapshot(self, scope: Scope = "epoch") -> StatsSnapshot:
        """What was measured up to now.

        Args:
            scope: "epoch": since the last `begin_epoch`; "total": since the loader was made.

        Raises:
            OptionError: Another scope.
        """
        if scope not in get_args(Scope):
            raise OptionError("scope is not accepted", got=repr(scope), accepted=", ".join(map(repr, get_args(Scope))))
        with self.lock:
            self.take_pauses()
            copy = Meters(self.epoch.started_s)
            if scope == "total":
                copy = Meters(self.earlier.started_s)
                copy.merge(self.earlier)
            copy.merge(self.epoch)
        return copy.freeze(time.perf_counter())  # quantiles take a millisecond, and nobody waits for the lock


def recorder_here() -> Recorder:
    """What measures in the process that unpickles a `Stats`."""
    return EVENTS if EVENTS.in_use else Stats()
