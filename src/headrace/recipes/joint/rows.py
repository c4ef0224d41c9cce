"""One span on the members of a batch: by the batch where rows are regular, through torchvision where they are not."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from headrace.contracts import I32, Allocate, Bools
from headrace.recipes.joint.move import Column, move_members
from headrace.recipes.joint.placement import placement_of
from headrace.recipes.joint.regular import regular_rows
from headrace.recipes.joint.sample_form import SampleForm
from headrace.recipes.span import Span

Redo: TypeAlias = Callable[[int], Mapping[int, Any] | None]
"""The leaves that torchvision makes of one row, by place; None where it cannot, which is noted elsewhere."""


def move_rows(
    span: Span,
    form: SampleForm,
    leaves: Mapping[int, Sequence[Any]],
    params: Mapping[int, I32],
    alive: Bools,
    redo: Redo,
    allocate: Allocate,
    *,
    usual: Bools | None = None,
    cropped: Bools | None = None,
) -> dict[int, Any]:
    """Does what a span did to the images of a batch to everything else in it.

    Args:
        span: What is done.
        form: The sample.
        leaves: All leaves by place, one value a row: images as the span left them, members as tensors.
        params: By place, what the kernel reports of each image leaf, shape (rows, 8).
        alive: False for rows that have a fault already, shape (rows,).
        redo: Makes one row anew, from its images as they were before the span.
        allocate: Where the memory of masks comes from.
        usual: False for rows that only torchvision can do, shape (rows,).
        cropped: `Placement.cropped` of the rows.

    Returns:
        The leaves by place. Rows that are not alive keep what they had.
    """
    placement = placement_of(span.geometry, params[form.images[0]], cropped)
    regular = alive & regular_rows(span, form, leaves, list(params.values()), placement)
    regular &= True if usual is None else usual
    rows = np.flatnonzero(regular)
    moved: dict[int, Column] = {}
    if rows.size:
        touched = {place: picked(values, rows.tolist()) for place, values in leaves.items() if place not in params}
        moved = move_members(span.steps, form, touched, placement.take(rows), allocate)
    if regular.all():
        return dict(leaves) | moved
    after = dict(leaves) | {place: merged(leaves[place], values, rows.tolist()) for place, values in moved.items()}
    for row in np.flatnonzero(alive & ~regular).tolist():
        put_row(after, row, redo(row))
    return after


def picked(values: Sequence[Any], rows: Sequence[int]) -> Sequence[Any]:
    """The values of some rows."""
    return values if len(rows) == len(values) else [values[row] for row in rows]


def merged(before: Sequence[Any], moved: Column, rows: Sequence[int]) -> list[Any]:
    """All rows: what was moved, and as they were those that were not."""
    after = list(before)
    for row, value in zip(rows, moved, strict=True):
        after[row] = value
    return after


def put_row(leaves: dict[int, Any], row: int, made: Mapping[int, Any] | None) -> None:
    """Puts one row where it belongs; columns that are one tensor get it as they are of one shape."""
    for place, value in (made or {}).items():
        column = leaves[place]
        if isinstance(column, torch.Tensor):
            column[row].copy_(value)
        else:
            leaves[place] = [*column[:row], value, *column[row + 1 :]]
