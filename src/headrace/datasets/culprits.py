"""Finds the samples at which a function of `collate=` fails, so that the error can name them, or leave them out.

The function gets all values of a field at once, and what it raises says of none of them. It is called again with each
value alone: only after it has failed, and only until it is known which values it does not take.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from headrace.datasets.faults import RowFaults
from headrace.datasets.undecoded import remedy_of_bytes
from headrace.errors import SampleError, TransformError


def blame(rows: Sequence[Any], call: Callable[[Any], object], faults: RowFaults, field: str) -> bool:
    """Notes a fault for each row at which a function fails alone.

    Args:
        rows: The values.
        call: The function, called with one value.
        faults: Of the batch.
        field: Name of the field.

    Returns:
        False where that tells nothing: it takes every value alone, or none of several.
    """
    found = {row: alone for row, value in enumerate(rows) if row not in faults and (alone := failure(call, value))}
    if not found or (len(found) == len(rows) > 1):
        return False
    for row, alone in found.items():
        faults.add(row, alone if isinstance(alone, SampleError) else named(alone, rows[row], field), field)
    return True


def failure(call: Callable[[Any], object], value: Any) -> Exception | None:
    """What a function raises for a value, if it raises."""
    try:
        call(value)
    except Exception as error:  # noqa: BLE001 - whatever the user's function raises
        return error
    return None


def named(error: Exception, value: Any, field: str) -> TransformError:
    """The error of a sample that a function of `collate=` does not take."""
    made = TransformError(
        f"a function of collate= raised {type(error).__name__}: {error}",
        stage="collate",
        remedy=remedy_of_bytes(field) if isinstance(value, bytes) else 'on_error="skip" leaves such samples out',
    )
    made.__cause__ = error
    return made
