"""Sources made from other sources: a selection of one, several one after another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from headrace._base.distinct import distinct
from headrace._base.hashing import fold
from headrace.contracts import I64, Allocate, BatchSource, Column, Layout, SampleName
from headrace.datasets.merge_columns import merge_columns
from headrace.datasets.sample_numbers import sample_numbers


class SelectedSource:
    """The samples of a source at given positions (`torch.utils.data.Subset`, `random_split`); -1 is the last.

    Raises:
        OptionTypeError: A position is no whole number.
        IndexError: There is no such sample.
    """

    def __init__(self, inner: BatchSource, positions: Sequence[int] | I64) -> None:
        self.inner = inner
        self.positions = sample_numbers(positions, int(inner.layout().samples.sum()))

    def layout(self) -> Layout:
        """One shard: what is next to each other in a selection need not be so in storage."""
        whole = self.inner.layout()
        share = len(self.positions) / max(1, int(whole.samples.sum()))
        return Layout(
            samples=np.array([len(self.positions)], dtype=np.int64),
            sizes=np.array([int(whole.sizes.sum() * share)], dtype=np.int64),
        )

    def identity(self) -> Mapping[str, Any]:
        """The inner identity and a hash of the positions."""
        digest = int(np.bitwise_xor.reduce(fold(np.arange(len(self.positions)), self.positions), initial=0))
        return {"kind": "selection", "of": self.inner.identity(), "num": len(self.positions), "positions": digest}

    def fetch(self, ids: I64, allocate: Allocate) -> Mapping[str, Column]:
        """Columns of the selected samples."""
        return self.inner.fetch(self.positions[ids], allocate)

    def names(self, ids: I64) -> Sequence[SampleName]:
        """Names of the selected samples."""
        return self.inner.names(self.positions[ids])


class JoinedSource:
    """Several sources one after another (`torch.utils.data.ConcatDataset`)."""

    def __init__(self, parts: Sequence[BatchSource]) -> None:
        self.parts = tuple(parts)
        layouts = [part.layout() for part in self.parts]
        self.ends = np.cumsum([int(one.samples.sum()) for one in layouts], dtype=np.int64)
        self.joined = Layout(
            samples=np.concatenate([one.samples for one in layouts]),
            sizes=np.concatenate([one.sizes for one in layouts]),
        )

    def layout(self) -> Layout:
        """The shards of all parts."""
        return self.joined

    def identity(self) -> Mapping[str, Any]:
        """The identities of the parts, in order."""
        return {"kind": "join", "of": [part.identity() for part in self.parts]}

    def fetch(self, ids: I64, allocate: Allocate) -> Mapping[str, Column]:
        """Columns whose rows come from the parts that hold them."""
        fetched = self._by_part(ids, lambda part, inner: part.fetch(inner, allocate))
        names = fetched[0][1].keys() if fetched else ()
        return {name: merge_columns([(rows, columns[name]) for rows, columns in fetched], len(ids)) for name in names}

    def names(self, ids: I64) -> Sequence[SampleName]:
        """Names from the parts."""
        found: list[SampleName | None] = [None] * len(ids)
        for rows, names in self._by_part(ids, lambda part, inner: part.names(inner)):
            for row, name in zip(rows, names, strict=True):
                found[row] = name
        return [name for name in found if name is not None]

    def _by_part(self, ids: I64, call: Callable[[BatchSource, I64], Any]) -> list[tuple[I64, Any]]:
        """(rows, result) for each part that holds some of the ids."""
        of_part = np.searchsorted(self.ends, ids, side="right")
        results = []
        for number in distinct(of_part):
            rows = np.flatnonzero(of_part == number)
            start = int(self.ends[number - 1]) if number else 0
            results.append((rows, call(self.parts[number], ids[rows] - start)))
        return results
