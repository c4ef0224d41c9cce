"""The engine of threads: native code decodes outside the interpreter's lock, so nothing is copied between processes."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from headrace.contracts import Recorder, Step, StepWork
from headrace.engine.budget import ByteBudget
from headrace.engine.consumer import Consumer
from headrace.engine.flight import Flight
from headrace.engine.flight_options import FlightOptions
from headrace.engine.slots import SlotPool
from headrace.engine.stream import StepStream
from headrace.errors import LoaderClosedError, OptionError, StaleIteratorError


class ThreadEngine:
    """Runs steps on threads that all loaders of the process share. Threads exist from `run` to its end.

    Args:
        work: What is done for each step.
        num_workers: Batches that Python code works on at once; at least 1.
        num_io_threads: Steps whose bytes are fetched at once; at least 1.
        budget: Bounds the bytes of the steps in flight; `SHARED_BUDGET` for what all loaders of a process share.
        slots: Where the batches lie.
        recorder: Gets the stages "order", "budget", "fetch", "run", "deliver", the queue "ready", the event
            "fresh_slots".
        limit_bytes: What this loader may hold of the budget; must be given with `SHARED_BUDGET`.
        max_in_flight: At most so many steps in flight, whatever the budget has room for.
        num_runners: Threads that call `work.run`. By default one more than `num_workers`: while native threads
            decode one batch, the Python part of the next one is done.
        resources: Entered when an iteration starts and left when it ends (`lambda: shared_native_pool(2)`).
        is_prompt: Asked each time: whether `work.fetch` waits for nothing now. Threads that have made a batch fetch for
            the next one then, rather than wake an I/O thread.
        timeout_s: How long a batch is waited for before a `BatchTimeoutError` ends the iteration; None: for ever.

    Raises:
        OptionError: A number of threads or steps below 1.
    """

    def __init__(
        self,
        work: StepWork,
        *,
        num_workers: int,
        num_io_threads: int,
        budget: ByteBudget,
        slots: SlotPool,
        recorder: Recorder,
        limit_bytes: int | None = None,
        max_in_flight: int | None = None,
        num_runners: int | None = None,
        resources: Callable[[], AbstractContextManager[Any]] = nullcontext,
        is_prompt: Callable[[], bool] = bool,
        timeout_s: float | None = None,
    ) -> None:
        self.work = work
        self.options = FlightOptions(
            num_runners=at_least_1("num_runners", num_runners if num_runners is not None else num_workers + 1),
            num_io_threads=at_least_1("num_io_threads", num_io_threads),
            max_in_flight=at_least_1("max_in_flight", max_in_flight) if max_in_flight is not None else sys.maxsize,
            budget=budget,
            limit_bytes=limit_bytes,
            slots=slots,
            recorder=recorder,
            resources=resources,
            is_prompt=is_prompt,
            timeout_s=timeout_s,
        )
        at_least_1("num_workers", num_workers)
        self.flight: Flight | None = None
        self.closed = False

    def run(self, steps: Iterator[Step]) -> StepStream:
        """Begins to make the batches of these steps, and ends an iteration that is still running.

        Args:
            steps: Pulled one by one, by one thread at a time, as memory allows; may be endless.

        Raises:
            LoaderClosedError: The engine is closed.
            WorkerError: The system gives no thread.
        """
        if self.closed:
            raise LoaderClosedError("the loader is closed", remedy="Make a new one.")
        if self.flight is not None:
            self.flight.close(StaleIteratorError)
        self.flight = Flight(self.work, steps, self.options)
        stream = StepStream(Consumer(self.flight))
        self.flight.start()
        return stream

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends a running iteration, frees memory that lies unused, and refuses new iterations. Idempotent.

        Args:
            kind: What a later call for a batch raises.
        """
        self.closed = True
        if self.flight is not None:
            self.flight.close(kind)
            self.flight = None
        self.options.slots.trim()


def at_least_1(name: str, value: int) -> int:
    """The value, checked."""
    if value < 1:
        raise OptionError(f"{name} is too small", got=value, accepted="1 or more")
    return value
