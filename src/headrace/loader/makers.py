"""Who makes the batches of a loader: an engine as it was chosen, and what belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from headrace._base.machine import read_machine
from headrace.contracts import BatchStream, Step
from headrace.engine import ProcessEngine, Stats
from headrace.errors import LoaderClosedError
from headrace.loader.composition import Composition
from headrace.loader.engine_choice import EngineChoice
from headrace.loader.fit import Fit, fit
from headrace.loader.landing import Landing
from headrace.loader.read_ahead import ReadAhead
from headrace.loader.running import AnyEngine, enter_limits, make_engine
from headrace.loader.streams.duplicates import Claim
from headrace.loader.work import make_read_ahead


class Makers:
    """An engine, made when it is first needed and again after a `close`.

    Args:
        composition: What was decided, with the dataset as this engine gets it.
        choice: The engine.
        stats: What its stages record to.
        claim: Asks the other ranks who was first to see something.
    """

    def __init__(self, composition: Composition, choice: EngineChoice, stats: Stats, claim: Claim) -> None:
        self.composition = composition
        self.choice = choice
        self.stats = stats
        self.claim = claim
        self.engine: AnyEngine | None = None
        self.read_ahead: ReadAhead | None = None
        self.fitted: Fit | None = None

    @property
    def fit(self) -> Fit:
        """What of the decisions this process has room for; looked at when it is first asked for, and kept.

        Raises:
            ResourceError: There is too little of something for even one batch at a time.
        """
        if self.fitted is None:
            self.fitted = fit(self.composition, self.choice, read_machine())
        return self.fitted

    def open(self, steps: Iterator[Step]) -> BatchStream:
        """The batches of these steps; the stream before it ends.

        Raises:
            ResourceError: There is too little of something for even one batch at a time.
            WorkerError: The system gives no process or thread.
        """
        stream = self.made_engine().run(steps if self.read_ahead is None else self.read_ahead.along(steps))
        if self.choice.kind != "processes":
            return stream
        return Landing(stream, self.composition.sizes, pins=self.composition.options.pin_memory)

    def made_engine(self) -> AnyEngine:
        """The engine."""
        if self.engine is None:
            enter_limits(self.fit)
            composition = replace(self.composition, memory=self.fit.memory)
            choice = replace(self.choice, workers=self.fit.workers)
            self.read_ahead = make_read_ahead(composition) if choice.kind == "processes" else None
            self.engine = make_engine(composition, choice, self.stats, self.claim)
        return self.engine

    def start(self) -> None:
        """Starts worker processes before there is anything to do, and does not wait for them.

        Raises:
            ResourceError: There is no room for them.
            OptionError: The work cannot be pickled.
            WorkerError: The system gives no process.
        """
        engine = self.made_engine()
        if isinstance(engine, ProcessEngine):
            engine.start()

    def are_ready(self) -> bool:
        """Whether the worker processes that were started could begin a step at once.

        Raises:
            WorkerError: They never will, or have left again.
            Exception: What loading the dataset has raised in one of them.
        """
        return isinstance(self.engine, ProcessEngine) and self.engine.is_ready()

    @property
    def have_left(self) -> bool:
        """Whether worker processes that have been at work are not there any more, or not all of them."""
        return isinstance(self.engine, ProcessEngine) and not self.engine.has_workers

    def recompose(self, composition: Composition) -> None:
        """Other decisions on which steps there are, and nothing left of what ran under the old ones but processes.

        Those take seconds to start, and what they do does not depend on which steps there are.
        """
        if isinstance(self.engine, ProcessEngine):
            self.engine.rest()
            self.read_ahead = make_read_ahead(composition)
        else:
            self.close()
            self.fitted = None
        self.composition = composition

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends the engine; `kind` is what a stream of it raises from here on. Idempotent."""
        engine, self.engine = self.engine, None
        if engine is not None:
            engine.close(kind)
