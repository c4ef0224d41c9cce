"""Columns of a table of files while it is made, a piece of the source at a time."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace.datasets.shared.pack_items import CHUNK, AdaptiveEncoder
from headrace.datasets.shared.packed import Packed, Pieces
from headrace.errors import SourceError

MOST_SUFFIXES = (1 << 16) - 1


class SuffixEncoder:
    """What the names of files end with: a number a row, and few different suffixes."""

    def __init__(self) -> None:
        self.ids = array("H")
        self.id_of: dict[str, int] = {}

    def add(self, suffixes: Iterable[str | None]) -> None:
        """Takes the suffixes of further rows; None where a row has no file.

        Raises:
            SourceError: There are so many that they cannot be extensions.
        """
        id_of, ids = self.id_of, self.ids
        for suffix in suffixes:
            if suffix is None:
                ids.append(0)
                continue
            number = id_of.setdefault(suffix, len(id_of) + 1)
            if number > MOST_SUFFIXES:
                raise SourceError("files with more different extensions than can be told apart", got=f"{number:,}")
            ids.append(number)

    def pad(self, num_rows: int) -> None:
        """Rows up to this number have no file unless one was added."""
        self.ids.extend(bytes(num_rows - len(self.ids)))

    def finish(self) -> Packed:
        """The numbers, in the smallest type that holds them."""
        ids = np.frombuffer(self.ids, dtype=np.uint16).astype(np.min_scalar_type(len(self.id_of)))
        return Packed(schema={"kind": "numbers"}, arrays=[Pieces.of(ids)], num_rows=len(ids))


class ValueEncoder:
    """Values of any one kind. Rows without a value get that of another row, so that the kind stays the same."""

    def __init__(self) -> None:
        self.encoder = AdaptiveEncoder()
        self.num_rows = 0
        self.num_waiting = 0
        """Rows at the beginning that have no value yet, since none is known."""
        self.fill: Any = None
        self.absent = array("q")

    def add(self, values: Sequence[Any]) -> None:
        """Takes further values; None where a row has none."""
        absent = [row for row, value in enumerate(values, self.num_rows) if value is None]
        self.absent.extend(absent)
        if absent:
            self.fill = next((value for value in values if value is not None), self.fill)
            values = [self.fill if value is None else value for value in values]
        first, self.num_rows = self.num_rows, self.num_rows + len(values)
        if self.fill is None and absent:
            self.num_waiting = self.num_rows
            return
        if not values:
            return
        self.fill = values[-1]
        if self.num_waiting:
            self.repeat(self.num_waiting)
        self.encoder.add(values, first)

    def pad(self, num_rows: int) -> None:
        """Rows up to this number have no value unless one was added."""
        while self.num_rows < num_rows:
            self.add([None] * min(CHUNK, num_rows - self.num_rows))

    def repeat(self, num: int) -> None:
        """The rows at the beginning, now that a value is known."""
        self.num_waiting = 0
        for first in range(0, num, CHUNK):
            self.encoder.add([self.fill] * min(CHUNK, num - first), first)

    def finish(self) -> Packed:
        """The values."""
        if self.num_waiting:
            self.fill = 0
            self.repeat(self.num_waiting)
        return self.encoder.finish()

    def finish_absent(self) -> Packed:
        """The rows without a value, rising."""
        rows = np.frombuffer(self.absent, dtype=np.int64) if self.absent else np.empty(0, dtype=np.int64)
        return Packed(schema={"kind": "numbers"}, arrays=[Pieces.of(rows)], num_rows=len(rows))
