"""How long samples hold Python's lock: what threads cannot do at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from headrace.engine import LockProbe
from headrace.loader.thread_clock import thread_clock

TICK_S = 100e-6
"""How long the lock is left alone between two looks, about."""
ENOUGH_S = 0.1
ENOUGH_SAMPLES, MOST_SAMPLES = 64, 1024
SHORT_S = 0.05
"""Samples that take next to nothing are made for as long: a garbage collection in between takes 15 ms."""
LONG_S = 0.005
"""What a call may take for the next one to be given twice as many samples: so calls themselves cost next to nothing."""
LEAST_TELLING_S = 0.02
"""What is over sooner says little about the lock, which threads pass on every 5 ms: four turns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GilShare:
    """What a few samples took."""

    sample_s: float
    """Seconds a sample, without those for which other programs had the CPU."""
    share: float
    """Part of that time for which Python's lock was held, 0 to 1."""
    busy: float
    """Part of that time for which the thread ran, with or without the lock, 0 to 1: it waited for the rest."""


class LockWatch:
    """A thread that asks for Python's lock now and then, while others work."""

    def __init__(self) -> None:
        self.probe = LockProbe()
        self.thread = threading.Thread(target=self.probe.run, args=(TICK_S,), name="headrace-gil", daemon=True)
        self.thread.start()

    def part(self) -> float:
        """Part of the time since the last call for which others held the lock."""
        return held_part(*self.probe.taken())

    def stop(self) -> None:
        """Ends the thread."""
        self.probe.stop()
        self.thread.join()


def held_part(num_asked: int, num_waited: int, slept_s: float, waited_s: float) -> float:
    """Part of the time for which others held the lock.

    They did while the probe waited for it. Of the time that it slept, the moments at its end are a sample: it may sleep
    through many turns of a lock that is given up for a moment all the time, as by each small operation of torch.
    """
    total_s = slept_s + waited_s
    return (waited_s + slept_s * num_waited / max(1, num_asked)) / total_s if total_s else 1.0


def measure_gil_share(make: Callable[[int], int], most: int = MOST_SAMPLES) -> GilShare:
    """Makes samples for about 0.1 s, or until they are 64 and have taken 0.05 s, and tells what they took.

    Args:
        make: Makes this many samples, in the caller's thread, or fewer; tells how many.
        most: So many at most, but for one.
    """
    watch = LockWatch()
    try:
        clock, began_s = thread_clock(), time.perf_counter()
        num_samples, num_next = make(1), 1
        elapsed_s = time.perf_counter() - began_s
        if elapsed_s < ENOUGH_S:  # the first one opens files and fills caches, and does not count
            num_samples, elapsed_s = 0, 0.0
            watch.part()
            clock, began_s = thread_clock(), time.perf_counter()
        while num_samples < most and elapsed_s < (ENOUGH_S if num_samples < ENOUGH_SAMPLES else SHORT_S):
            num_samples += make(min(num_next, most - num_samples))
            before_s, elapsed_s = elapsed_s, time.perf_counter() - began_s
            num_next *= 2 if elapsed_s - before_s < LONG_S else 1
        elapsed_s, now = time.perf_counter() - began_s, thread_clock()
        held_s = watch.part() * elapsed_s
    finally:
        watch.stop()
    return gil_share(
        num_samples,
        elapsed_s=elapsed_s,
        held_s=held_s,
        run_s=now.run_s - clock.run_s,
        queued_s=now.queued_s - clock.queued_s,
    )


def gil_share(num_samples: int, *, elapsed_s: float, held_s: float, run_s: float, queued_s: float) -> GilShare:
    """What samples would take on a machine that does nothing else.

    Who holds the lock runs, or stands in the queue of a CPU; so the lock is held no longer than the thread has run,
    and others wait for that queue too, which is taken out again.

    Args:
        num_samples: How many were made.
        elapsed_s: How long that took.
        held_s: How long another thread would not have got the lock.
        run_s: How long the thread that made them has run.
        queued_s: How long it was ready to run while others had the CPU.
    """
    own_s = max(elapsed_s - queued_s, run_s, 1e-9)
    busy = run_s / own_s
    share = min(busy, held_s * run_s / max(run_s + queued_s, 1e-9) / own_s) if own_s > LEAST_TELLING_S else busy
    return GilShare(sample_s=own_s / num_samples, share=share, busy=busy)
