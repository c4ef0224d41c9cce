"""Ranks that open an epoch together make sure that it is the same one."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from headrace._base.forks import renew_after_fork
from headrace.loader.mismatch import mismatch
from headrace.loader.rendezvous import Record, Rendezvous, Verdict
from headrace.order import Topology

PATIENCE_S = 10.0
"""How long a rank waits for the others before it goes on and looks again later. It never waits for good: they may be
waiting for this one, in a collective of the training loop."""

SHORT_PATIENCE_S = 1.0
"""The same where the others are likely to come late, or not at all."""

GRACE_S = 2.0
"""How long a rank that is about to raise waits for the records of the others, so that it can name their values."""

FIRST_LOOK = 2
"""Looks are at the 2nd, 3rd, 5th, 9th, ... batch: few, and never late by more than what has been delivered."""

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.0005, 0.05
"""Between two looks at the store."""


class Agreement:
    """The openings of a loader on this rank, held against those of the other ranks.

    A rank counts its openings. It leaves word of each and waits a short while for the others to come to theirs of the
    same number; where they have not come, it goes on and looks again at later batches. At the same batches it looks
    whether some rank has left this opening after fewer batches and has opened the next one: then the two are compared.

    Args:
        find: Finds where the ranks meet; called at each opening, since a job may begin after the loader was made.
    """

    def __init__(self, find: Callable[[Topology], Rendezvous | None]) -> None:
        self.find = find
        self.rendezvous: Rendezvous | None = None
        self.opening = -1
        self.facts: Mapping[str, Any] = {}
        self.taken = 0
        """Batches that were handed over since the last opening, the one that is about to be included."""
        self.next_look = FIRST_LOOK
        """The batch at which this rank looks for the others again."""
        self.left_after: int | None = None
        """Batches that had been taken when the opening before was left; None where that came to its end."""
        self.is_over = True
        self.is_settled = True
        """Whether all ranks have come to this opening and agree."""
        self.is_patient = True
        """Whether the others have always come in time."""
        renew_after_fork(self)

    def open(self, facts: Mapping[str, Any], topology: Topology) -> bool:
        """This rank opens an epoch; returns whether there is anybody to agree with.

        Args:
            facts: What decides the order, and the place in it; JSON-serialisable.
            topology: Of this rank.

        Raises:
            RankMismatchError: Another rank has opened a different one.
        """
        if self.taken == 0 and self.opening >= 0 and facts == self.facts:
            return self.rendezvous is not None  # an iterator that gave nothing is as good as none
        self.left_after = None if self.is_over else self.taken
        self.opening, self.facts, self.taken, self.next_look = self.opening + 1, facts, 0, FIRST_LOOK
        self.is_over, self.is_settled = False, True
        self.rendezvous = None
        with suppress(RuntimeError):  # as below: a store that is gone
            self.rendezvous = self.find(topology)
        self._guarded(self._arrive)
        return self.rendezvous is not None

    def takes(self) -> None:
        """The iterator is about to hand over a batch.

        Raises:
            RankMismatchError: Another rank has opened a different epoch.
        """
        self.taken += 1
        if self.taken == self.next_look:
            self.next_look = 2 * self.taken - 1
            self._guarded(self._look)

    def ended(self) -> None:
        """The epoch came to its end.

        Raises:
            RankMismatchError: Another rank has opened a different epoch.
        """
        self.is_over = True
        self.next_look = self.taken + 1  # whoever has left this epoch before its end is found out here at the latest
        self.takes()

    def claim(self, what: str, who: str) -> str:
        """Who was first among the ranks to say something in this opening; `who` where there is nobody to ask."""
        first = [who]
        self._guarded(lambda rendezvous: first.append(rendezvous.claim(self.opening, what, who)))
        return first[-1]

    def after_fork(self) -> None:
        """A forked child is no rank of the job, and must not speak for one through the connection it has inherited."""
        self.rendezvous, self.find = None, lambda _: None

    def _guarded(self, action: Callable[[Rendezvous], None]) -> None:
        """A store that is gone (its process has ended) is no reason to fail: the job's own collectives will tell."""
        rendezvous = self.rendezvous
        if rendezvous is None:
            return
        try:
            action(rendezvous)
        except RuntimeError:
            self.rendezvous = None

    def _arrive(self, rendezvous: Rendezvous) -> None:
        is_quick = self.left_after is not None or not self.is_patient or rendezvous.session.was_awaited
        self._conclude(rendezvous, self._wait(rendezvous, SHORT_PATIENCE_S if is_quick else PATIENCE_S))
        if not self.is_settled and not is_quick:
            self._tell_missing(rendezvous)

    def _look(self, rendezvous: Rendezvous) -> None:
        """Looks again for ranks that had not come, and for ranks that have gone on to the next opening."""
        if not self.is_settled:
            # Ranks that stayed where this one has left are past that batch now, or have left too: they find out.
            is_due = self.left_after is not None and self.left_after < self.taken
            self._conclude(rendezvous, self._wait(rendezvous, PATIENCE_S if is_due else 0.0))
            if is_due:
                self.left_after = None
        ahead = rendezvous.first(self.opening + 1)
        if ahead is None or ahead.left_after is None or ahead.left_after >= self.taken:
            return
        if ahead.facts != self.facts:
            rendezvous.condemn(ahead.opening)
            self._fail(rendezvous, ahead.opening)
        # It has begun the same epoch anew: from now on its count is that of all.
        self.opening, self.left_after = ahead.opening, ahead.left_after
        self._arrive(rendezvous)

    def _wait(self, rendezvous: Rendezvous, patience_s: float) -> Verdict | None:
        """Looks for the verdict again and again, in short questions: others of this process use the store too."""
        record = Record(opening=self.opening, left_after=self.left_after, facts=self.facts)
        until, pause_s = time.monotonic() + patience_s, FIRST_PAUSE_S
        while (verdict := rendezvous.meet(record)) is None and time.monotonic() < until:
            time.sleep(pause_s)
            pause_s = min(1.5 * pause_s, LONGEST_PAUSE_S)
        return verdict

    def _conclude(self, rendezvous: Rendezvous, verdict: Verdict | None) -> None:
        self.is_settled = verdict == "same"
        if verdict == "differ":
            self._fail(rendezvous, self.opening)

    def _fail(self, rendezvous: Rendezvous, opening: int) -> None:
        """Raises, with the values of all ranks."""
        until = time.monotonic() + GRACE_S
        records = rendezvous.records()
        while time.monotonic() < until and any(
            rank not in records or records[rank].opening < opening for rank in rendezvous.ranks
        ):
            time.sleep(LONGEST_PAUSE_S)
            records = rendezvous.records()
        raise mismatch({rank: record.facts for rank, record in records.items()}, rendezvous.rank)

    def _tell_missing(self, rendezvous: Rendezvous) -> None:
        """Says once which ranks have not come."""
        self.is_patient = False
        records = rendezvous.records()
        late = [rank for rank in rendezvous.ranks if rank not in records or records[rank].opening < self.opening]
        warnings.warn(
            f"rank {rendezvous.rank} has opened an epoch of a loader and has not met ranks {late} within "
            f"{PATIENCE_S:.0f} s: it goes on without them. What one rank iterates alone needs "
            "topology=headrace.Topology(); a batch is looked at with peek()",
            stacklevel=2,
        )
