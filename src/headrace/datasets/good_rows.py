"""Rows that are faulty repeat rows that are good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def repeat_good_rows(values: Any, bad: Sequence[int], good: Sequence[int]) -> Any:
    """Puts a good row in the place of each bad one, in place where it can be; zeros stay where no row is good."""
    if not good:
        return values
    for row in bad:
        values[row] = values[source_of(row, good)]
    return values


def source_of(row: int, good: Sequence[int]) -> int | None:
    """The good row that a bad one repeats; None where no row is good."""
    return good[row % len(good)] if good else None
