"""Rows that are faulty repeat rows that are good."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def repeat_good_rows(values: Any, bad: Sequence[int], good: Sequence[int]) -> Any:
    """Puts a good row in the place of each bad one, in place where it can be; zeros stay where no row is good."""
    if not good:
        return values
    for row in bad:
        values[row] = values[good[row % len(good)]]
    return values
