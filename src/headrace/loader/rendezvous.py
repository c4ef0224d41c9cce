"""Where the ranks of a job leave word of the epochs they open: the key-value store of torch.distributed.

A few small messages an opening, whatever the backend: no collective that could meet one of the training loop, no
device, no group of our own. Nothing here waits: a key is looked at only where it is known to be there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, TypeAlias

from headrace.loader.session import Session, read

Verdict: TypeAlias = Literal["same", "differ"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """What a rank says of the epoch it has opened last."""

    opening: int
    """How many it had opened before, with this loader."""
    left_after: int | None
    """Batches that it had taken when it left the opening before that one; None where that one came to its end."""
    facts: Mapping[str, Any]
    """What decides the order, and the place in it; JSON-serialisable."""

    def to_text(self) -> str:
        """The record as JSON."""
        return json.dumps(asdict(self), sort_keys=True, separators=(",", ":"))

    @staticmethod
    def from_text(text: str) -> Record:
        """The record that `to_text` wrote."""
        return Record(**json.loads(text))


class Rendezvous:
    """The openings of one loader.

    The first rank to come leaves its record, all others compare theirs with it, and the last one writes the verdict:
    messages grow with the number of ranks, not with its square.

    Args:
        session: Of the processes that share the loader.
        name: Of the loader, the same on all ranks.
    """

    def __init__(self, session: Session, name: str) -> None:
        self.session = session
        self.store = session.store
        self.name = name
        self.rank = session.rank
        self.ranks = session.ranks
        self.arrived = -1

    def meet(self, record: Record) -> Verdict | None:
        """Comes to an opening, if it was not possible before, and looks for the verdict.

        Returns:
            "same": all ranks have come and agree; "differ": some do not; None: not known yet, ask again.
        """
        if not self.session.enter():
            return None
        if self.arrived != record.opening:
            self.arrived = record.opening
            self._arrive(record)
        verdict = read(self.store, self._key(record.opening, "verdict"))
        if verdict is None:
            return None
        if verdict == "differ":
            return "differ"
        self.session.is_complete = True
        return "same"

    def _arrive(self, record: Record) -> None:
        store, number, text = self.store, record.opening, record.to_text()
        store.set(self._record_key(self.rank), text)
        first = Record.from_text(store.compare_set(self._key(number, "first"), "", text).decode())
        if first.facts != record.facts:
            self.condemn(number)
        if store.add(self._key(number, "count"), 1) == len(self.ranks):
            store.compare_set(self._key(number, "verdict"), "", "same")
            self._forget(number - 1)

    def condemn(self, number: int) -> None:
        """The verdict on an opening is that the ranks differ."""
        self.store.set(self._key(number, "verdict"), "differ")

    def first(self, number: int) -> Record | None:
        """The record of the first rank that came to an opening."""
        return self._record(self._key(number, "first"))

    def claim(self, number: int, what: str, who: str) -> str:
        """Who was first to say something in an opening; `who` itself where the ranks have not met."""
        if not self.session.enter():
            return who
        return self.store.compare_set(self._key(number, f"claim/{what}"), "", who).decode()

    def records(self) -> dict[int, Record]:
        """The latest record of each rank that has left one."""
        found = {rank: self._record(self._record_key(rank)) for rank in self.ranks}
        return {rank: record for rank, record in found.items() if record is not None}

    def _record(self, key: str) -> Record | None:
        text = read(self.store, key) if self.session.enter() else None
        return None if text is None else Record.from_text(text)

    def _forget(self, number: int) -> None:
        """Every rank has come to a later opening: nobody looks at this one any more."""
        for part in ("first", "count", "verdict"):
            self.store.delete_key(self._key(number, part))

    def _key(self, number: int, part: str) -> str:
        return f"{self.session.prefix}/{self.name}/{number}/{part}"

    def _record_key(self, rank: int) -> str:
        return f"{self.session.prefix}/{self.name}/rank/{rank}"
