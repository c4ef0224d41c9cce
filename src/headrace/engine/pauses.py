"""How long Python's garbage collector stops a process, measured while a loader works."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from types import TracebackType
from typing import Self


class Pauses:
    """Tells each collection of this process, from entering to leaving.

    Nothing of the collector is changed. Python calls `note` twice a collection (0.3 us together; a collection of the
    youngest objects takes some 10), never at the same time from two threads.

    Args:
        paused: Called with the seconds that a collection took. It runs inside the collection, and so inside any code,
            also code that holds a lock: it takes none.
    """

    def __init__(self, paused: Callable[[float], object]) -> None:
        self.paused = paused
        self.began_s = 0.0

    def __enter__(self) -> Self:
        gc.callbacks.append(self.note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.note in gc.callbacks:  # code of the user may have cleared the list
            gc.callbacks.remove(self.note)

    def note(self, phase: str, _: dict[str, int]) -> None:
        """What Python calls before and after a collection."""
        if phase == "start":
            self.began_s = time.perf_counter()
        elif self.began_s:
            began_s, self.began_s = self.began_s, 0.0
            self.paused(time.perf_counter() - began_s)


class PauseSum:
    """Sums up the collections of a worker process, whose measurements go to the trainer with each batch."""

    def __init__(self) -> None:
        self.num = 0
        self.total_s = 0.0

    def add(self, pause_s: float) -> None:
        """One more collection."""
        self.num += 1
        self.total_s += pause_s

    def taken(self) -> tuple[int, float]:
        """Collections and seconds since the last call."""
        taken = self.num, self.total_s
        self.num, self.total_s = 0, 0.0
        return taken
