"""Small works for engines, whose batches tell which step they are of. They can be pickled."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from headrace.contracts import Allocate, Step
from headrace.errors import WorkerError

BATCH_SHAPE = (4, 1024)
STEP_BYTES = 1 << 20
"""What each of these steps says that it takes."""
PATIENCE_S = 20.0
"""How long something may take that has to happen, on a machine that is busy with other things."""


class StepSource(Iterator[Step]):
    """Numbered steps that count how many were pulled.

    Args:
        num: How many; None for no end.
        fail_at: Raises `ValueError` in place of this one.
    """

    def __init__(self, num: int | None = None, *, fail_at: int | None = None) -> None:
        self.numbers = iter(range(num)) if num is not None else itertools.count()
        self.fail_at = fail_at
        self.num_pulled = 0
        self.pulling = False

    def __next__(self) -> Step:
        if self.pulling:
            raise WorkerError("two threads pull a step at once")
        self.pulling = True
        number = next(self.numbers)
        if number == self.fail_at:
            raise ValueError(f"no step {number}")
        time.sleep(0)  # offers the turn to a thread that should not be here
        self.num_pulled += 1
        self.pulling = False
        return Step(index=number, epoch=0, ids=np.arange(4) + 4 * number, valid=np.ones(4, dtype=np.bool_))


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWork:
    """Batches filled with the number of their step; the first row comes from `fetch`."""

    naps_s: tuple[float, ...] = (0.0,)
    """Step n sleeps `naps_s[n % len(naps_s)]` in `fetch`, and the next entry's time in `run`."""
    fail_fetch: int | None = None
    """Step whose `fetch` raises `ValueError`."""
    fail_run: int | None = None
    """Step whose `run` raises `error`."""
    error: Exception = field(default_factory=lambda: ValueError("as told"))

    def size_bytes(self, step: Step) -> int:
        """As `StepWork` has it."""
        return STEP_BYTES

    def fetch(self, step: Step, allocate: Allocate) -> Any:
        """An array of the step's number, in leased memory."""
        time.sleep(self.naps_s[step.index % len(self.naps_s)])
        if step.index == self.fail_fetch:
            raise ValueError("as told")
        row = allocate((BATCH_SHAPE[1],), np.int64)
        row.fill(step.index)
        return row

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Any:
        """The whole batch, in leased memory."""
        time.sleep(self.naps_s[(step.index + 1) % len(self.naps_s)])
        if step.index == self.fail_run:
            raise self.error
        batch = allocate(BATCH_SHAPE, np.int64)
        batch.fill(step.index)
        batch[0] = fetched
        return batch


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientWork:
    """Step 0 is finished only after later ones were: files in a folder tell which are, across processes too."""

    folder: Path
    wait_for: int
    """Step 0 waits for steps 1 to this one."""

    def size_bytes(self, step: Step) -> int:
        """As `StepWork` has it."""
        return STEP_BYTES

    def fetch(self, step: Step, allocate: Allocate) -> Any:
        """Nothing."""
        return None

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Any:
        """The number of the step."""
        awaited = range(1, self.wait_for + 1) if step.index == 0 else ()
        until_s = time.monotonic() + PATIENCE_S
        while not all((self.folder / str(number)).exists() for number in awaited):
            if time.monotonic() > until_s:
                raise WorkerError("later steps were not made while the first one was being worked on")
            time.sleep(0.001)
        (self.folder / str(step.index)).touch()
        return step.index


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownWork:
    """Steps of which nobody knows what they take; a batch tells from when to when its step was worked on."""

    nap_s: float
    """How long step 0 takes."""

    def size_bytes(self, step: Step) -> int | None:
        """As `StepWork` has it: not known."""
        return None

    def fetch(self, step: Step, allocate: Allocate) -> float:
        """The moment at which the step was begun."""
        return time.monotonic()

    def run(self, step: Step, fetched: float, allocate: Allocate) -> tuple[float, float]:
        """When the step was begun, and when it was done."""
        time.sleep(self.nap_s if step.index == 0 else 0.0)
        allocate(BATCH_SHAPE, np.int64).fill(step.index)
        return fetched, time.monotonic()
