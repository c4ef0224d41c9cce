"""The engine of the caller's own thread (`num_workers=0`): a batch is made when it is asked for."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

from headrace.contracts import Delivered, Recorder, Step, StepWork
from headrace.engine.passage import StepMemory
from headrace.engine.slots import SlotPool
from headrace.engine.step_errors import at_step, closed_error
from headrace.engine.stream import StepStream
from headrace.errors import LoaderClosedError, StaleIteratorError


class InlineRun:
    """One iteration."""

    def __init__(
        self, work: StepWork, steps: Iterator[Step], slots: SlotPool, recorder: Recorder, held: ExitStack
    ) -> None:
        self.work = work
        self.steps = steps
        self.slots = slots
        self.recorder = recorder
        self.held = held
        self.finished = False
        self.closed: type[LoaderClosedError] | None = None

    def take(self) -> Delivered:
        """Makes the next batch; raises what its step raises, after which the run is closed."""
        if self.finished:
            raise StopIteration
        if self.closed is not None:
            raise closed_error(self.closed)
        try:
            delivered = self.make()
        except BaseException:
            self.close()
            raise
        if delivered is None:
            self.finished = True
            self.close()
            raise StopIteration
        return delivered

    def make(self) -> Delivered | None:
        """The next batch, None after the last step."""
        step, stage, memory = None, "order", StepMemory(self.slots, self.recorder)
        try:
            begun_s = asked_s = time.perf_counter()
            step = next(self.steps, None)
            if step is None:
                return None
            begun_s = self.record(stage, begun_s, step, 0)
            stage = "fetch"
            fetched = self.work.fetch(step, memory)
            fetched_bytes = memory.size_bytes
            begun_s = self.record(stage, begun_s, step, fetched_bytes)
            stage = "run"
            batch = self.work.run(step, fetched, memory)
            begun_s = self.record(stage, begun_s, step, memory.size_bytes - fetched_bytes)
        except BaseException as error:
            placed = at_step(step, stage, error)
            if placed is error:
                raise
            raise placed from error
        self.recorder.wait("deliver", begun_s - asked_s)
        self.recorder.add("deliver", 0.0, items=len(step.ids), size_bytes=memory.size_bytes)
        return Delivered(step=step, batch=batch)

    def record(self, stage: str, begun_s: float, step: Step, size_bytes: int) -> float:
        """Records a stage that ends now; returns the moment."""
        now_s = time.perf_counter()
        self.recorder.add(stage, now_s - begun_s, items=len(step.ids), size_bytes=size_bytes)
        return now_s

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Lets go of steps and resources. Idempotent."""
        self.closed = self.closed or kind
        self.steps = iter(())
        self.held.close()

    def abandon(self) -> None:
        """From a finaliser; there is no thread and no lock here."""
        self.close()


class InlineEngine:
    """Runs each step when it is asked for, in the thread that asks. Takes no memory ahead.

    Args:
        work: What is done for each step.
        slots: Where the batches lie.
        recorder: Gets the stages "order", "fetch", "run", "deliver" (whose waiting is the whole making) and the event
            "fresh_slots".
        resources: Entered when an iteration starts and left when it ends.
    """

    def __init__(
        self,
        work: StepWork,
        *,
        slots: SlotPool,
        recorder: Recorder,
        resources: Callable[[], AbstractContextManager[Any]] = nullcontext,
    ) -> None:
        self.work = work
        self.slots = slots
        self.recorder = recorder
        self.resources = resources
        self.current: InlineRun | None = None
        self.closed = False

    def run(self, steps: Iterator[Step]) -> StepStream:
        """Makes these steps one by one as they are asked for, and ends an iteration that is still running.

        Raises:
            LoaderClosedError: The engine is closed.
        """
        if self.closed:
            raise LoaderClosedError("the loader is closed", remedy="Make a new one.")
        if self.current is not None:
            self.current.close(StaleIteratorError)
        held = ExitStack()
        held.enter_context(self.resources())
        self.current = InlineRun(self.work, steps, self.slots, self.recorder, held)
        return StepStream(self.current)

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends a running iteration, frees memory that lies unused, and refuses new iterations. Idempotent.

        Args:
            kind: What a later call for a batch raises.
        """
        self.closed = True
        if self.current is not None:
            self.current.close(kind)
            self.current = None
        self.slots.trim()
