"""The engine of processes: Python code runs at once on several cores, whatever holds the interpreter's lock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from headrace.contracts import Recorder, Step, StepWork
from headrace.engine.budget import ByteBudget
from headrace.engine.consumer import Consumer
from headrace.engine.flight_options import FlightOptions
from headrace.engine.processes.crew import Crew, start_crew
from headrace.engine.processes.flight import ProcessFlight
from headrace.engine.processes.job import Job, no_context, nothing
from headrace.engine.processes.launch import CrewOptions
from headrace.engine.processes.readiness import is_ready
from headrace.engine.processes.sendable import objection_to
from headrace.engine.processes.tasks import MAX_TICKETS
from headrace.engine.shared import SHARED_SLOTS
from headrace.engine.stream import StepStream
from headrace.engine.threads import at_least_1
from headrace.errors import LoaderClosedError, OptionError, StaleIteratorError

IDLE_S = 300.0
PRELOAD = ("torch",)
LEAST_FREE_BYTES = 64 << 20
"""What each worker may keep of unused batch memory at least, where nobody has set a limit for this engine."""


class ProcessEngine:
    """Runs steps in worker processes. They start with the first `run` and stay for the next one.

    A worker gets the work pickled (by cloudpickle, so functions and classes of a notebook or a script travel too) and
    never imports `__main__`. It writes batches into memory that this process sees as well: arrays and tensors arrive
    without a copy and are leased, as everywhere else.

    Args:
        work: What is done for each step, in a worker; `size_bytes` is asked here.
        num_workers: Processes; at least 1.
        budget: Bounds the bytes of the steps in flight; `SHARED_BUDGET` for what all loaders of a process share.
        recorder: Gets the stages "order" and "deliver", and those that workers measure: "fetch", "run", "send"; the
            queue "ready", the event "fresh_slots". A `Stats` inside `work` measures in the workers, and ends up here.
        limit_bytes: What this loader may hold of the budget; must be given with `SHARED_BUDGET`.
        max_in_flight: At most so many steps in flight, whatever the budget has room for; 256 at most.
        threads_per_worker: Threads that OpenMP, MKL, torch and others may use in each worker; None for their defaults.
        worker_init: Called once in each worker with its number, before its first step.
        step_context: Entered in the worker around each step, for instance to seed generators.
        idle_s: How long workers wait for the next iteration before they end; 0 ends them with each iteration.
        preload: Modules that a worker imports while the work is still being packed, where this process has them too.
        bound: Whether each step names the worker that has to make it; otherwise whoever is free takes the next one.
        release: Called in each worker when an iteration has ended, where workers are bound.
        resources: Entered in this process when an iteration starts and left when it ends.
        timeout_s: How long a batch is waited for before a `BatchTimeoutError` ends the iteration and the workers; None:
            for ever. Their start does not count.

    Raises:
        OptionError: A number of workers, threads or steps below 1, a negative time.
    """

    def __init__(
        self,
        work: StepWork,
        *,
        num_workers: int,
        budget: ByteBudget,
        recorder: Recorder,
        limit_bytes: int | None = None,
        max_in_flight: int | None = None,
        threads_per_worker: int | None = 1,
        worker_init: Callable[[int], object] | None = None,
        step_context: Callable[[Step], AbstractContextManager[Any]] = no_context,
        idle_s: float = IDLE_S,
        preload: Sequence[str] = PRELOAD,
        bound: bool = False,
        release: Callable[[], object] = nothing,
        resources: Callable[[], AbstractContextManager[Any]] = nullcontext,
        timeout_s: float | None = None,
    ) -> None:
        self.job = Job(work=work, release=release, worker_init=worker_init, step_context=step_context)
        in_flight = MAX_TICKETS if max_in_flight is None else at_least_1("max_in_flight", max_in_flight)
        self.options = FlightOptions(
            num_runners=0,
            num_io_threads=1,
            max_in_flight=min(MAX_TICKETS, in_flight),
            budget=budget,
            limit_bytes=limit_bytes,
            slots=SHARED_SLOTS,
            recorder=recorder,
            resources=resources,
            timeout_s=timeout_s,
        )
        if threads_per_worker is not None:
            at_least_1("threads_per_worker", threads_per_worker)
        if idle_s < 0:
            raise OptionError("a time to wait is negative", got=idle_s, accepted="0 or more, in seconds")
        share_bytes = (limit_bytes or budget.limit_bytes) // at_least_1("num_workers", num_workers)
        self.crew_options = CrewOptions(
            num_workers=num_workers,
            threads_per_worker=threads_per_worker,
            max_free_bytes=share_bytes if limit_bytes is not None else max(share_bytes, LEAST_FREE_BYTES),
            idle_s=idle_s,
            preload=tuple(preload),
            bound=bound,
        )
        self.crew: Crew | None = None
        self.flight: ProcessFlight | None = None
        self.closed = False

    def run(self, steps: Iterator[Step]) -> StepStream:
        """Begins to make the batches of these steps, and ends an iteration that is still running.

        Args:
            steps: Pulled one by one in this process, by one thread at a time, as memory allows; may be endless.

        Raises:
            LoaderClosedError: The engine is closed.
            OptionError: The work cannot be pickled.
            WorkerError: The system gives no process or thread.
        """
        if self.closed:
            raise closed()
        if self.flight is not None:
            self.flight.close(StaleIteratorError)
        self.flight = ProcessFlight(self.job.work, steps, self.options, self.ready_crew())
        stream = StepStream(Consumer(self.flight))
        self.flight.start()
        return stream

    def start(self) -> None:
        """Starts the workers without an iteration, and does not wait for them; `is_ready` tells how far they are.

        They leave a CPU to this process meanwhile.

        Raises:
            LoaderClosedError: The engine is closed.
            OptionError: The work cannot be pickled.
            WorkerError: The system gives no process.
        """
        if self.closed:
            raise closed()
        if self.crew is None:
            self.crew = start_crew(self.job, self.crew_options, aside=True)

    def is_ready(self) -> bool:
        """Whether the workers that `start` has started have all taken up their work.

        Raises:
            WorkerError: They never will, or have left again.
            Exception: What loading the dataset has raised in one of them.
        """
        return self.crew is not None and is_ready(self.crew)

    @property
    def has_workers(self) -> bool:
        """Whether there are workers for another iteration: a call of `run` starts none."""
        return self.crew is not None and self.crew.is_whole

    def objection(self) -> OptionError | None:
        """What keeps the work from being sent to workers, as `run` would raise it; None where nothing does."""
        return objection_to(self.job)

    def rest(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends a running iteration; the workers stay for the next one.

        Args:
            kind: What a later call for a batch raises.
        """
        if self.flight is not None:
            self.flight.close(kind)
            self.flight = None

    def ready_crew(self) -> Crew:
        """The workers: those that are there if all are, else new ones."""
        if self.crew is None or not self.crew.rouse():
            if self.crew is not None:
                self.crew.end()
            self.crew = start_crew(self.job, self.crew_options)
            self.crew.rouse()
        return self.crew

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends a running iteration and the workers, and refuses new iterations. Idempotent.

        Args:
            kind: What a later call for a batch raises.
        """
        self.closed = True
        self.rest(kind)
        if self.crew is not None:
            self.crew.end()
            self.crew = None


def closed() -> LoaderClosedError:
    """The error of an engine that is closed."""
    return LoaderClosedError("the loader is closed", remedy="Make a new one.")
