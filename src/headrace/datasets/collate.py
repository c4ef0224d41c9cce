"""Values of one leaf over the rows of a batch become what `torch.utils.data.default_collate` makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from headrace.datasets.values import Values
from headrace.errors import CollateError


def collate_values(values: Values, field: str) -> Any:
    """A tensor of numbers and arrays, a tuple of strings, and so on; a list where some rows have no value.

    Raises:
        CollateError: Values of different kinds or shapes; the error names the field and what differs.
    """
    if isinstance(values, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(values))
    if any(value is None for value in values):
        return list(values)
    rows: Any = tuple(values)
    try:
        return default_collate(rows)
    except (RuntimeError, TypeError, ValueError, KeyError) as error:
        raise CollateError(
            "the values of a batch do not fit together",
            field=field,
            stage="collate",
            got=_difference(values),
            accepted="numbers, strings, arrays or tensors of equal shape and type",
            remedy="Give collate_fn=, or bring them to one shape in the transform",
        ) from error


def repeat_good_rows(values: Any, bad: Sequence[int], good: Sequence[int]) -> Any:
    """Puts a good row in the place of each bad one, in place where it can be; zeros stay where no row is good."""
    if not good:
        return values
    for row in bad:
        values[row] = values[good[row % len(good)]]
    return values


def _difference(values: Values) -> str:
    kinds = {_describe(value): None for value in values}
    return ", ".join(list(kinds)[:4])


def _describe(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__}{tuple(shape)}" if shape is not None else type(value).__name__
