"""The values of one leaf over the rows of a batch, put together by a rule."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace.contracts import Allocate
from headrace.datasets.collate_rules import STACK, Rule
from headrace.datasets.collate_samples import are_mixed, collate_field, difference, first_unlike
from headrace.datasets.values import Values, python_values
from headrace.datasets.view_columns import ViewColumns
from headrace.errors import CollateError


def collate_leaf(values: Values | torch.Tensor | ViewColumns, rule: Rule, field: str, allocate: Allocate) -> Any:
    """A tensor of numbers and arrays, a tuple of strings, and so on; a list where some rows have no value.

    A leaf of several views is a list of these, one a view.

    Args:
        values: One a row; images that are stacked already are a tensor, labels of a whole batch an array.
        rule: How.
        field: Name of the leaf.
        allocate: Where the memory comes from.

    Raises:
        CollateError: Values of different kinds or shapes; the error names the field, the first row that differs, and
            what differs.
    """
    if isinstance(values, ViewColumns):
        return [collate_leaf(view, rule, field, allocate) for view in values.columns]
    if rule == STACK:
        if isinstance(values, torch.Tensor):
            return values
        if isinstance(values, np.ndarray):
            return torch.from_numpy(np.ascontiguousarray(values))
    rows: Any = list(values) if isinstance(values, torch.Tensor) else python_values(values)
    if rule == STACK and any(value is None for value in rows):
        return list(rows)
    try:
        return collate_field(tuple(rows), rule, (field,), allocate, one_kind=True)
    except CollateError:
        if rule == STACK and are_mixed(rows):
            raise mixed(rows, field) from None
        raise


def mixed(rows: Sequence[Any], field: str) -> CollateError:
    """The error of rows of different kinds."""
    return CollateError(
        "the files of one field are of different kinds",
        field=field,
        row=first_unlike(rows),
        stage="collate",
        got=difference(rows),
        accepted="values of one kind in a batch",
        remedy=f'If all of them are images: headrace.field({field!r}, kind="image"). Otherwise name the extensions '
        f'that are meant (fields="jpg;png", missing="skip"), or keep them apart with collate={{{field!r}: "list"}}',
    )
