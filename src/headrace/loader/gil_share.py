"""How long samples hold Python's lock: what threads cannot do at the same time."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

TICK_S = 100e-6
ON_TIME_S = 400e-6
"""A sleep of a tick ends about this late at most when nothing is in its way: timer slack and a wake-up."""
ENOUGH_S = 0.1
MOST_SAMPLES = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class GilShare:
    """What a few samples took."""

    sample_s: float
    """Seconds a sample."""
    share: float
    """Part of that time for which Python's lock was held, 0 to 1."""


class Ticker:
    """Wants Python's lock again and again, and sums up how long it did not get it.

    A thread that sleeps for a tick and comes back late has waited for the lock. While another thread holds it for long,
    it gets it once every switch interval (5 ms), after a wait of as long.
    """

    def __init__(self) -> None:
        self.late_s = 0.0
        self.done = threading.Event()
        self.thread = threading.Thread(target=self.run, name="headrace-gil", daemon=True)

    def run(self) -> None:
        """Ticks until it is told to stop."""
        before = time.perf_counter()
        while not self.done.is_set():
            time.sleep(TICK_S)
            now = time.perf_counter()
            late_s = now - before - TICK_S
            if late_s > ON_TIME_S:
                self.late_s += late_s
            before = now

    def stop(self) -> float:
        """Stops, and tells for how many seconds the lock was held by others."""
        self.done.set()
        self.thread.join()
        return self.late_s


def measure_gil_share(make: Callable[[int], object]) -> GilShare:
    """Makes samples for about 0.1 s and tells what they took.

    Args:
        make: Makes this many samples, in the caller's thread.
    """
    make(1)  # the first one opens files and fills caches
    ticker = Ticker()
    ticker.thread.start()
    began = time.perf_counter()
    num_samples, num_next = 0, 1
    try:
        while time.perf_counter() - began < ENOUGH_S and num_samples < MOST_SAMPLES:
            make(num_next)
            num_samples, num_next = num_samples + num_next, min(2 * num_next, MOST_SAMPLES)
    finally:
        busy_s = time.perf_counter() - began
        held_s = ticker.stop()
    return GilShare(sample_s=busy_s / num_samples, share=min(1.0, held_s / busy_s))
