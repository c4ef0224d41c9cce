"""An engine of steps, put to the service of streams."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Protocol

from headrace._base.units import count
from headrace.contracts import Delivered, Step
from headrace.engine import StepStream
from headrace.errors import LoaderClosedError
from headrace.loader.streams.duplicates import Duplicates
from headrace.loader.streams.snapshot import Changes
from headrace.loader.streams.steps import StreamIteration, StreamSteps
from headrace.loader.streams.turns import Read, Turn


class InnerEngine(Protocol):
    """What makes the steps."""

    def run(self, steps: Iterator[Step]) -> StepStream:
        """Begins to make these steps."""

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends it; `kind` is what a later call for a batch raises."""


class StreamEngine:
    """Books what streams bring, and delivers what is a batch of it.

    Args:
        engine: Makes the steps; those of one stream in their order.
        steps: Whose iterations are run.
        duplicates: Hears what the streams begin with.
        release: Closes streams of this process that nobody reads any more.
        changes: Looks at the dataset before each iteration, where workers have copies of it that are to be renewed.
    """

    def __init__(
        self,
        engine: InnerEngine,
        steps: StreamSteps,
        duplicates: Duplicates,
        *,
        release: Callable[[], None] | None = None,
        changes: Changes | None = None,
    ) -> None:
        self.engine = engine
        self.steps = steps
        self.duplicates = duplicates
        self.release = release
        self.changes = changes
        self.has_told_left_out = False

    def run(self, steps: Iterator[Step]) -> StepStream:
        """Begins to read streams, and ends an iteration that is still running.

        Raises:
            LoaderClosedError: The engine is closed.
            OptionError: The dataset has become one that cannot be sent to workers.
            WorkerError: The system gives no process or thread.
        """
        if not isinstance(steps, StreamIteration):
            raise TypeError(f"a {type(steps).__name__} is no iteration over streams")
        if self.changes is not None:
            steps.dataset = self.changes.now()
        return StepStream(StreamTaker(self.engine.run(steps), steps, self))

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends a running iteration, of which a later call raises `kind`, and refuses new ones. Idempotent."""
        self.engine.close(kind)
        self.let_go()

    def let_go(self) -> None:
        """Closes streams of this process."""
        if self.release is not None:
            self.release()


class StreamTaker:
    """Takes steps from the stream of an engine, and passes over those that have brought nothing."""

    def __init__(self, inner: StepStream, iteration: StreamIteration, engine: StreamEngine) -> None:
        self.inner = inner
        self.iteration = iteration
        self.engine = engine
        self.has_told = False

    def take(self) -> Delivered:
        """The next batch.

        Raises:
            StopIteration: All streams have ended, or all the steps are made that ranks make together.
            Exception: What a stream has raised, at its place in the order.
        """
        ledger, even_steps = self.iteration.ledger, self.iteration.even_steps
        if even_steps is not None and ledger.standing.place.batches >= even_steps:
            self._end_evenly()
            raise StopIteration
        while True:
            try:
                delivered = next(self.inner)
            except StopIteration:
                self._tell_left_out()
                self.engine.let_go()
                raise
            except BaseException:
                self.engine.let_go()
                raise
            turn: Turn = delivered.step.task
            read: Read = delivered.batch
            ledger.book(turn, read)
            if read.beginning is not None:
                self.engine.duplicates.note(turn.stream, read.beginning)
            if read.made is not None:
                self._compare_lengths()
                return Delivered(step=delivered.step, batch=read.made)

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends the work behind it. Idempotent."""
        self.inner.close()
        self.engine.let_go()

    def abandon(self) -> None:
        """Ends it without waiting."""
        self.inner.source.abandon()
        self.engine.let_go()

    def _end_evenly(self) -> None:
        """Ends after the steps that all ranks make; warns where that leaves samples out which no length has told of."""
        plan = self.engine.steps.plan
        try:
            if plan.tail != "drop" and self._has_more():
                warnings.warn(
                    f"rank {plan.rank} has more samples than the lengths of its parts say: what comes after "
                    f"step {self.iteration.even_steps} is left out, so that ranks stay even",
                    stacklevel=2,
                )
        finally:
            self.close()

    def _has_more(self) -> bool:
        """Whether a stream has a batch left; those that have not are booked as ended, so that the steps end too."""
        for delivered in self.inner:
            if delivered.batch.made is not None:
                return True
            self.iteration.ledger.book(delivered.step.task, delivered.batch)
        return False

    def _tell_left_out(self) -> None:
        """Warns where batches could be made of what `drop_last` has left out: each stream drops a tail of its own."""
        plan, num_left_out = self.engine.steps.plan, self.iteration.ledger.num_left_out
        if self.engine.has_told_left_out or num_left_out < (plan.batch_size or 1):
            return
        self.engine.has_told_left_out = True
        batches = count(self.iteration.ledger.standing.place.batches, "batch", "batches")
        warnings.warn(
            f"drop_last has left out {count(num_left_out, 'sample')} of an epoch of {batches}: "
            f"{count(plan.num_streams, 'stream')} of this rank, one a worker, make batches of {plan.batch_size} for "
            "themselves, and each drops what is left at its end. Fewer workers or smaller batches leave out less, "
            "drop_last=False nothing",
            stacklevel=2,
        )

    def _compare_lengths(self) -> None:
        """Warns, as torch does, where there is more than a length has promised that somebody has asked for."""
        steps = self.engine.steps
        if self.has_told or not steps.told_length:
            return
        told, num_samples = steps.lengths.num_samples(), self.iteration.ledger.standing.num_samples
        if num_samples > told:
            self.has_told = True
            warnings.warn(
                f"Length of IterableDataset {type(steps.lengths.dataset).__name__} was reported to be {told} (when "
                f"len(loader) was asked), but {num_samples} samples have been fetched. With several workers, each may "
                "give all samples: see docs/guide/iterable.md",
                stacklevel=2,
            )
