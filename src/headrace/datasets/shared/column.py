"""What the kinds of columns have in common."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from headrace.contracts import I64
from headrace.datasets.shared.packed import Packed


class Column(Protocol):
    """Items of one kind, read from arrays that other processes look at too."""

    @property
    def layout(self) -> str:
        """How the items are kept, for people: `text`, `int16`, `(text, int16)`, `float32[3, 224, 224]`, `pickled`."""

    def item(self, row: int) -> Any:
        """One item; `row` is known to be within bounds and not negative."""

    def items(self, rows: I64) -> list[Any]:
        """The items of many rows, shape (n,), the same as `item` gives one by one."""


class Encoder(Protocol):
    """Takes items of one kind and keeps them packed."""

    def add(self, items: Sequence[Any], first: int) -> None:
        """Packs further items; `first` is the place of the first of them in the whole list.

        Raises:
            DoesNotFitError: They are of the right kind but do not fit; none of them has been added.
        """

    def finish(self) -> Packed:
        """What has been packed. The encoder is used up."""


class DoesNotFitError(Exception):
    """Items that the encoder of their kind cannot keep, such as integers beyond 64 bits."""
