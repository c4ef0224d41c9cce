"""A composed loader at work: its engine, its progress, and the iterator that is alive."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

from headrace._base.machine import read_machine
from headrace.contracts import Delivered, Step
from headrace.datasets.shared import PackedDataset, pack_attributes
from headrace.engine import ProcessEngine, Stats, StepStream
from headrace.errors import OptionError, ResourceError
from headrace.loader.agreement import Agreement
from headrace.loader.composition import Composition
from headrace.loader.engine_choice import EngineChoice
from headrace.loader.epoch_chain import EpochChain
from headrace.loader.explain import explain
from headrace.loader.fit import Fit, fit
from headrace.loader.iterator import LoaderIterator
from headrace.loader.landing import Landing
from headrace.loader.outline import outline_of
from headrace.loader.peers import is_in_a_job
from headrace.loader.place import Place
from headrace.loader.progress import Progress
from headrace.loader.read_ahead import ReadAhead
from headrace.loader.running import AnyEngine, decide_engine, enter_limits, make_engine, settled
from headrace.loader.work import make_read_ahead


class Run:
    """What moves when a loader is iterated, saved, restored or changed.

    Args:
        composition: What was decided; replaced as a whole where a state or a batch size asks for other steps.
        progress: Where the loader stands.
        stats: What the stages record to.
        agreement: With the other ranks.
    """

    def __init__(self, composition: Composition, progress: Progress, stats: Stats, agreement: Agreement) -> None:
        self.composition = composition
        self.progress = progress
        self.stats = stats
        self.agreement = agreement
        self.engine: AnyEngine | None = None
        self.landing: Landing | None = None
        self.read_ahead: ReadAhead | None = None
        self.chain: EpochChain | None = None
        self.live: weakref.ref[LoaderIterator] | None = None
        self.outline: str | None = None
        """Of the dataset, as workers or the plan have it."""
        self._fit: Fit | None = None

    def begin(self, *, goes_on: bool = False) -> LoaderIterator:
        """An iterator over what comes next; the one before it ends.

        Args:
            goes_on: Whether it is certain that the epoch after this one is wanted too.

        Raises:
            RankMismatchError: Another rank of the job begins something else.
        """
        composition, progress = self.composition, self.progress
        self.stats.begin_epoch()
        if is_in_a_job():
            # Not otherwise: facts include a hash of all paths, which a lone process need not wait for.
            self._agree(composition.steps.facts(progress.upcoming))
        self._chain(goes_on=goes_on or composition.options.persistent_workers)
        stream = self._stream(progress.begin())
        steps, rank = composition.steps, composition.topology.rank
        iterator = LoaderIterator(stream, steps, self.landing, progress, self.agreement, rank)
        self.live = weakref.ref(iterator)
        return iterator

    @property
    def is_iterating(self) -> bool:
        """Whether somebody holds an iterator that has not come to its end."""
        return self.live is not None and self.live() is not None and not self.progress.is_over

    def notice_change(self) -> bool:
        """Whether the dataset looks other than when this was last asked, where copies or a plan of it are in use.

        Never with `persistent_workers=True`, which keeps workers and their dataset, as in torch.
        """
        composition = self.composition
        is_copied = composition.resolved is not None or self.choice.kind == "processes"
        if not is_copied or composition.streams is not None or composition.options.persistent_workers:
            return False
        before, self.outline = self.outline, outline_of(composition.dataset, composition.options.collate_fn)
        return None not in (before, self.outline) and before != self.outline

    def _agree(self, facts: Mapping[str, Any] | None) -> None:
        began_s = time.perf_counter()
        if facts is not None and self.agreement.open(facts, self.composition.topology):
            self.stats.wait("agree", time.perf_counter() - began_s)

    @cached_property
    def choice(self) -> EngineChoice:
        """The engine, decided when it is first asked for."""
        choice = decide_engine(self.composition)
        return settled(choice, self.sent) if choice.kind == "processes" else choice

    @property
    def fit(self) -> Fit:
        """What of the decisions this process has room for; looked at when it is first asked for, and kept.

        Raises:
            ResourceError: There is too little of something for even one batch at a time.
        """
        if self._fit is None:
            self._fit = fit(self.composition, self.choice, read_machine())
        return self._fit

    @cached_property
    def shared(self) -> PackedDataset | None:
        """The dataset as worker processes would get it, its large lists shared; None where it is not map-style."""
        composition = self.composition
        is_map_style = composition.resolved is None and composition.streams is None
        return pack_attributes(composition.dataset) if is_map_style else None

    @property
    def sent(self) -> Composition:
        """The composition as worker processes would get it."""
        return self.composition if self.shared is None else replace(self.composition, dataset=self.shared.dataset)

    @property
    def num_workers(self) -> int:
        """Workers; before samples were looked at, as many as the arguments and the machine say."""
        decided = self.choice.workers if "choice" in vars(self) else self.composition.workers
        return (decided if self._fit is None else self._fit.workers).num_workers

    def explain(self) -> str:
        """What was decided and why."""
        shared = self.shared if self.choice.kind == "processes" else None
        lists = shared.explain(self.fit.workers.num_workers) if shared is not None else None
        return explain(self.composition, self.choice, self.fit, lists, self.progress.here.epoch)

    def state(self) -> dict[str, Any]:
        """What was delivered, as a state."""
        return self.composition.steps.state(self.progress.saved)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes to the place of a state; where that fails, everything stays as it was."""
        steps, place = self.composition.steps.restore(state)
        self._recompose(replace(self.composition, steps=steps))
        self.progress.go_to(place)

    def resize(self, batch_size: int | None) -> None:
        """Goes on in batches of another size, in the live iterator too; where that fails, all stays as it was."""
        composition, progress = self.composition, self.progress
        if batch_size is None:
            raise OptionError("set_batch_size needs a size", got="None", accepted="an integer of 1 or more")
        options = replace(composition.options, batch_size=batch_size)
        steps, place = composition.steps.resized(progress.place, batch_size)
        _, upcoming = composition.steps.resized(progress.upcoming, batch_size)
        iterator = self.live() if self.live is not None and not progress.is_over else None
        has_begun = self._fit is not None
        self._recompose(replace(composition, options=options, steps=steps))
        try:
            _ = self.fit if has_begun else None
        except ResourceError:
            self._recompose(composition)
            self._go_on(iterator, progress.place)
            raise
        progress.resize(place, upcoming)
        self._go_on(iterator, place)

    def _go_on(self, iterator: LoaderIterator | None, place: Place) -> None:
        """Has a live iterator go on from a place."""
        if iterator is not None:
            iterator.stream, iterator.steps = self._stream(place), self.composition.steps
            self.live = weakref.ref(iterator)

    def close(self) -> None:
        """Ends the live iterator and frees what it held."""
        self._forsake()
        engine, self.engine = self.engine, None
        if engine is not None:
            engine.close()

    def _forsake(self) -> None:
        self.live = None
        if self.chain is not None:
            self.chain.end()
            self.chain = None

    def _chain(self, *, goes_on: bool) -> None:
        """Sees to it that streams go on behind the end of an epoch, or that they do not."""
        steps = self.composition.steps
        goes_on = goes_on and steps.can_be_foreseen and self.choice.kind != "caller"
        if self.chain is not None and not goes_on:
            self.chain.end()
            self.chain = None
        elif self.chain is None and goes_on:
            self.chain = EpochChain(steps, partial(open_stream, self._engine(), self.read_ahead))

    def _stream(self, place: Place) -> Iterator[Delivered]:
        """The batches from a place to the end of its epoch; the iterator before it ends."""
        if self.chain is not None:
            return self.chain.leg(place)
        return open_stream(self._engine(), self.read_ahead, self.composition.steps.steps(place))

    def _engine(self) -> AnyEngine:
        """The engine, made when it is first needed."""
        if self.engine is None:
            enter_limits(self.fit)
            composition = self.composition
            if self.choice.kind == "processes":
                composition = self.sent
                self.landing = Landing(composition.sizes, pins=composition.options.pin_memory)
                self.read_ahead = make_read_ahead(composition)
            composition = replace(composition, memory=self.fit.memory)
            choice = replace(self.choice, workers=self.fit.workers)
            self.engine = make_engine(composition, choice, self.stats, self.agreement.claim)
        return self.engine

    def _recompose(self, composition: Composition) -> None:
        """Another composition, and nothing left of what ran under the old one but processes.

        Those take seconds to start, and what they do does not depend on which steps there are.
        """
        if isinstance(self.engine, ProcessEngine):
            self._forsake()
            self.engine.rest()
            self.read_ahead = make_read_ahead(composition)
        else:
            self.close()
            self._fit = None
        self.composition = composition


def open_stream(engine: AnyEngine, read_ahead: ReadAhead | None, steps: Iterator[Step]) -> StepStream:
    """The batches of these steps; the stream before it ends."""
    return engine.run(steps if read_ahead is None else read_ahead.along(steps))
