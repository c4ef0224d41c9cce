"""Where the ranks of a job leave word of the epochs they open: the key-value store of torch.distributed.

A few small messages an opening, whatever the backend: no collective that could meet one of the training loop, no
device, no group of our own. Nothing here waits: a key is looked at only where it is known to be there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, Protocol, TypeAlias

Verdict: TypeAlias = Literal["same", "differ"]


class Store(Protocol):
    """What is used of `torch.distributed.Store`."""

    def set(self, key: str, value: str) -> None:
        """Sets a value."""

    def get(self, key: str) -> bytes:
        """A value; waits for it where there is none."""

    def add(self, key: str, amount: int) -> int:
        """Adds to a counter and returns the sum."""

    def check(self, keys: list[str]) -> bool:
        """Whether all keys are there."""

    def compare_set(self, key: str, expected: str, desired: str) -> bytes:
        """Sets a value if it is the expected one ("": there is none) and returns what is there then."""

    def delete_key(self, key: str) -> bool:
        """Removes a value."""


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
    def from_text(text: bytes) -> Record:
        """The record that `to_text` wrote."""
        return Record(**json.loads(text))


class Rendezvous:
    """The openings of one loader.

    The first rank to come leaves its record, all others compare theirs with it, and the last one writes the verdict:
    messages grow with the number of ranks, not with its square.

    Args:
        store: Of the job.
        name: Of the loader, the same on all ranks.
        rank: Of this process in the job.
        ranks: Of all processes that open the epochs of this loader.
    """

    def __init__(self, store: Store, name: str, rank: int, ranks: Sequence[int]) -> None:
        self.store = store
        self.name = name
        self.rank = rank
        self.ranks = ranks

    def arrive(self, record: Record) -> Verdict | None:
        """Leaves a record; the verdict, if it is known already."""
        store, number, text = self.store, record.opening, record.to_text()
        store.set(self._record_key(self.rank), text)
        first = Record.from_text(store.compare_set(self._key(number, "first"), "", text))
        if first.facts != record.facts:
            self.condemn(number)
        if store.add(self._key(number, "count"), 1) < len(self.ranks):
            return self.verdict(number)
        verdict = store.compare_set(self._key(number, "verdict"), "", "same")
        self._forget(number - 1)
        return "same" if verdict == b"same" else "differ"

    def verdict(self, number: int) -> Verdict | None:
        """What was found out about an opening: all ranks have come and agree, or some do not; None: not known yet."""
        key = self._key(number, "verdict")
        if not self.store.check([key]):
            return None
        return "same" if self.store.get(key) == b"same" else "differ"

    def condemn(self, number: int) -> None:
        """The verdict on an opening is that the ranks differ."""
        self.store.set(self._key(number, "verdict"), "differ")

    def first(self, number: int) -> Record | None:
        """The record of the first rank that came to an opening."""
        key = self._key(number, "first")
        return Record.from_text(self.store.get(key)) if self.store.check([key]) else None

    def records(self) -> dict[int, Record]:
        """The latest record of each rank that has left one."""
        keys = {rank: self._record_key(rank) for rank in self.ranks}
        return {rank: Record.from_text(self.store.get(key)) for rank, key in keys.items() if self.store.check([key])}

    def _forget(self, number: int) -> None:
        """Every rank has come to a later opening: nobody looks at this one any more."""
        for part in ("first", "count", "verdict"):
            self.store.delete_key(self._key(number, part))

    def _key(self, number: int, part: str) -> str:
        return f"{self.name}/{number}/{part}"

    def _record_key(self, rank: int) -> str:
        return f"{self.name}/rank/{rank}"
