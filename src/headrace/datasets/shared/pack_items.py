"""From items to packed columns, a chunk at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any, cast

import numpy as np

from headrace.datasets.shared.array_column import ArrayEncoder
from headrace.datasets.shared.column import DoesNotFitError, Encoder
from headrace.datasets.shared.kinds import PICKLED, Kind, kind_of
from headrace.datasets.shared.number_column import NumberEncoder
from headrace.datasets.shared.packed import JoinedArrays, Packed
from headrace.datasets.shared.ragged_column import RaggedEncoder
from headrace.datasets.shared.read import read_column
from headrace.datasets.shared.record_column import RecordEncoder

CHUNK = 4096
"""Items that are looked at together: enough to make the cost of a chunk small, few enough for a generator's memory."""


def pack_items(items: Iterable[Any], *, plain_only: bool = False) -> Packed:
    """Packs items of any number and origin; at no time are more than a chunk of a generator's items alive.

    Args:
        items: What to pack.
        plain_only: Whether items that no column fits must be plain data (`is_plain`).

    Raises:
        OptionError: An item that cannot be pickled and that no column fits; names its index.
        NotPlainError: An item that is no plain data, with `plain_only`.
    """
    encoder = AdaptiveEncoder(plain_only=plain_only)
    following, first = iter(items), 0
    while chunk := list(islice(following, CHUNK)):
        encoder.add(chunk, first)
        first += len(chunk)
        chunk.clear()  # before the next one is read
    return encoder.finish()


class AdaptiveEncoder:
    """Finds the kind of column while it packs; where kinds are mixed, everything is pickled.

    Args:
        place: Where in a record the column lies, for errors.
        depth: How many records it lies in.
        plain_only: Whether items that are pickled must be plain data.
    """

    def __init__(self, *, place: str = "", depth: int = 0, plain_only: bool = False) -> None:
        self.place = place
        self.depth = depth
        self.plain_only = plain_only
        self.kind: Kind | None = None
        self.encoder: Encoder | None = None
        self.num_rows = 0

    def add(self, items: Sequence[Any], first: int) -> None:
        """Packs further items."""
        if self.kind != PICKLED:
            kind = kind_of(items, self.depth)
            if self.encoder is None:
                self.kind, self.encoder = kind, self.new_encoder(kind)
            elif kind != self.kind:
                self.fall_back()
        encoder = cast("Encoder", self.encoder)
        try:
            encoder.add(items, first)
        except DoesNotFitError:
            self.fall_back()
            cast("Encoder", self.encoder).add(items, first)
        self.num_rows += len(items)

    def fall_back(self) -> None:
        """Pickles what has been packed so far, and everything from here on."""
        before = cast("Encoder", self.encoder)
        self.kind, self.encoder = PICKLED, self.new_encoder(PICKLED)
        if not self.num_rows:
            return
        packed = before.finish()
        column = read_column(packed.schema, JoinedArrays(packed))
        for start in range(0, packed.num_rows, CHUNK):
            rows = np.arange(start, min(start + CHUNK, packed.num_rows))
            self.encoder.add(column.items(rows), start)

    def new_encoder(self, kind: Kind) -> Encoder:
        """An encoder for a kind."""
        detail: Any = kind.detail
        if kind.name == "numbers":
            return NumberEncoder(detail)
        if kind.name == "array":
            return ArrayEncoder(*detail)
        if kind.name == "record":
            build, keys = detail
            keys = range(keys) if isinstance(keys, int) else keys
            return RecordEncoder(build, keys, [self.inner(key) for key in keys])
        return RaggedEncoder(kind.name, place=self.place, plain_only=self.plain_only)

    def inner(self, key: int | str) -> AdaptiveEncoder:
        """The encoder of one place of a record."""
        return AdaptiveEncoder(place=f"{self.place}[{key!r}]", depth=self.depth + 1, plain_only=self.plain_only)

    def finish(self) -> Packed:
        """What has been packed."""
        if self.encoder is None:
            return Packed(schema={"kind": "empty"}, arrays=[], num_rows=0)
        return self.encoder.finish()
