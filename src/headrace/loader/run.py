"""A composed loader at work: who makes its batches, its progress, and the iterator that is alive."""

from __future__ import annotations

import time
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from headrace.contracts import Delivered
from headrace.engine import Stats
from headrace.errors import OptionError, ResourceError, StaleIteratorError
from headrace.loader.agreement import Agreement
from headrace.loader.composition import Composition
from headrace.loader.epoch_chain import EpochChain
from headrace.loader.explain import explain
from headrace.loader.fit import Fit
from headrace.loader.iterator import LoaderIterator
from headrace.loader.peers import is_in_a_job
from headrace.loader.place import Place
from headrace.loader.progress import Progress
from headrace.loader.relay import Relay
from headrace.loader.relief import in_words
from headrace.loader.staff import Staff


class Run:
    """What moves when a loader is iterated, saved, restored or changed.

    Args:
        composition: What was decided.
        progress: Where the loader stands.
        stats: What the stages record to.
        agreement: With the other ranks.
    """

    def __init__(self, composition: Composition, progress: Progress, stats: Stats, agreement: Agreement) -> None:
        self.staff = Staff(composition, stats, agreement.claim)
        self.progress = progress
        self.stats = stats
        self.agreement = agreement
        self.chain: EpochChain | None = None
        self.goes_on = False
        """Whether it is certain that the epoch after the present one is wanted too."""
        self.live: weakref.ref[LoaderIterator] | None = None
        self.num_streams = 0
        """Only who reads the last one may be relieved of it."""
        self.began: Place | None = None
        """Where the iterator before has begun."""
        self.outline: str | None = None
        """Of the dataset, as workers or the plan have it."""

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
        self.goes_on = goes_on or composition.options.persistent_workers
        self.staff.begin_epoch(self._num_delivered())
        self.began = place = progress.begin()
        stream = self.relieve(place)
        if stream is None:
            stream = self._stream(place)
        iterator = LoaderIterator(stream, composition.steps, progress, self.agreement, composition.topology.rank)
        self.live = weakref.ref(iterator)
        return iterator

    def _num_delivered(self) -> int:
        """Samples that the iterator before has delivered."""
        num_batches = self.progress.place.batches_since(self.began) if self.began is not None else 0
        return num_batches * (self.composition.options.batch_size or 1)

    @property
    def is_iterating(self) -> bool:
        """Whether somebody holds an iterator that has not come to its end."""
        return self.live is not None and self.live() is not None and not self.progress.is_over

    def notice_change(self) -> bool:
        """Whether the dataset looks other than when this was last asked, where copies or a plan of it are in use.

        Never with `persistent_workers=True`, which keeps workers and their dataset, as in torch.
        """
        composition = self.composition
        is_copied = composition.resolved is not None or self.staff.present.choice.kind == "processes"
        if not is_copied or composition.streams is not None or composition.options.persistent_workers:
            return False
        before, self.outline = self.outline, self.staff.outline()
        return None not in (before, self.outline) and before != self.outline

    def _agree(self, facts: Mapping[str, Any] | None) -> None:
        began_s = time.perf_counter()
        if facts is not None and self.agreement.open(facts, self.composition.topology):
            self.stats.wait("agree", time.perf_counter() - began_s)

    # --- who makes the batches

    @property
    def composition(self) -> Composition:
        """What was decided; replaced as a whole where a state or a batch size asks for other steps."""
        return self.staff.composition

    @property
    def num_workers(self) -> int:
        """Workers; before samples were looked at, as many as the arguments and the machine say."""
        return self.staff.num_workers

    @property
    def fit(self) -> Fit:
        """What of the decisions this process has room for.

        Raises:
            ResourceError: There is too little of something for even one batch at a time.
        """
        return self.staff.present.fit

    def explain(self) -> str:
        """What was decided and why."""
        staff = self.staff
        return explain(self.composition, staff.choice, self.fit, staff.lists, self.progress.here.epoch)

    def relieve(self, place: Place) -> Iterator[Delivered] | None:
        """The batches from a place on, of those who take over there; None where nobody does.

        They begin before the others end: where they cannot, whatever it is, the others go on.
        """
        relief = self.staff.relief
        if relief is None or not self.staff.can_be_relieved():
            return None
        before = self.staff.present
        relief.in_charge = True
        try:
            stream = self._stream(place)
        except Exception as error:  # noqa: BLE001 - whatever it is, it stands in `explain`
            relief.give_up(in_words(error))
            return self._stream(place)
        self.outline = relief.outline
        before.close(StaleIteratorError)
        return stream

    # --- where it stands

    def state(self) -> dict[str, Any]:
        """What was delivered, as a state."""
        return self.composition.steps.state(self.progress.saved)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes to the place of a state; where that fails, everything stays as it was."""
        steps, place = self.composition.steps.restore(state)
        self._recompose(replace(self.composition, steps=steps))
        self.progress.go_to(place)
        self.began = None

    def resize(self, batch_size: int | None) -> None:
        """Goes on in batches of another size, in the live iterator too; where that fails, all stays as it was."""
        composition, progress = self.composition, self.progress
        if batch_size is None:
            raise OptionError("set_batch_size needs a size", got="None", accepted="an integer of 1 or more")
        options = replace(composition.options, batch_size=batch_size)
        steps, place = composition.steps.resized(progress.place, batch_size)
        _, upcoming = composition.steps.resized(progress.upcoming, batch_size)
        iterator = self.live() if self.live is not None and not progress.is_over else None
        has_begun = self.staff.is_decided and self.staff.present.fitted is not None
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
        self.staff.close()
        self.began = None

    # --- streams

    def _forsake(self) -> None:
        self.live = None
        self.num_streams += 1
        if self.chain is not None:
            self.chain.end()
            self.chain = None

    def _chain(self) -> None:
        """Sees to it that streams go on behind the end of an epoch, or that they do not."""
        steps, makers = self.composition.steps, self.staff.present
        goes_on = self.goes_on and steps.can_be_foreseen and makers.choice.kind != "caller"
        if self.chain is not None and not (goes_on and self.chain.open_stream == makers.open):
            self.chain.end()
            self.chain = None
        if self.chain is None and goes_on:
            self.chain = EpochChain(steps, makers.open)

    def _stream(self, place: Place) -> Iterator[Delivered]:
        """The batches from a place to the end of its epoch; the iterator before it ends."""
        self.num_streams += 1
        self._chain()
        steps, staff = self.composition.steps, self.staff
        stream = staff.present.open(steps.steps(place)) if self.chain is None else self.chain.leg(place)
        if not (staff.awaits_relief and steps.can_be_foreseen):
            return stream
        return Relay(stream, place, partial(relieved, weakref.ref(self), self.num_streams))

    def _recompose(self, composition: Composition) -> None:
        """Another composition, and nothing left of what ran under the old one but processes."""
        self._forsake()
        self.staff.recompose(composition)


def relieved(run: weakref.ref[Run], num_streams: int, place: Place) -> Iterator[Delivered] | None:
    """The batches from a place on, where somebody takes over from the last stream of a loader that is still there."""
    loader = run()
    return loader.relieve(place) if loader is not None and loader.num_streams == num_streams else None
