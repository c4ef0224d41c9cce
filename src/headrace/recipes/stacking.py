"""Images become one tensor over leased memory, where their shapes allow it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import torch

from headrace.contracts import Allocate, Fault
from headrace.errors import CollateError
from headrace.recipes.rows import Rows
from headrace.recipes.tensors import allocate_target

Ragged: TypeAlias = Literal["refuse", "list"]
"""What images of different shapes become: an error, or a list."""

IMAGE_AXES = 3


def stack(values: Sequence[Any], allocate: Allocate, *, channels_last: bool, ragged: Ragged) -> Rows:
    """Puts the images of a batch together.

    Args:
        values: One a row: a tensor, anything else that the transforms gave, or a `Fault`.
        allocate: Where the memory comes from.
        channels_last: Memory layout of (C, H, W) images.
        ragged: What to do where shapes or types differ.

    Raises:
        CollateError: Tensors of different shapes or types, and `ragged` is `refuse`.
    """
    faults = tuple(value for value in values if isinstance(value, Fault))
    live = [value for value in values if not isinstance(value, Fault)]
    if not live or not all(isinstance(value, torch.Tensor) for value in live):
        return listed(values, faults)
    if any((value.shape, value.dtype) != (live[0].shape, live[0].dtype) for value in live):
        if ragged == "refuse":
            raise unlike(values, live[0])
        return listed(values, faults)
    return stacked(values, live, faults, allocate, channels_last=channels_last)


def stacked(
    values: Sequence[Any],
    live: Sequence[torch.Tensor],
    faults: tuple[Fault, ...],
    allocate: Allocate,
    *,
    channels_last: bool,
) -> Rows:
    """One tensor of images that are alike; zeros at faulty rows."""
    shape, dtype = (len(values), *live[0].shape), live[0].dtype
    target = allocate_target(allocate, shape, dtype, channels_last=channels_last and live[0].ndim == IMAGE_AXES).tensor
    if faults:
        for row, value in enumerate(values):
            if isinstance(value, Fault):
                target[row].zero_()
            else:
                target[row].copy_(value)
    else:
        torch.stack(list(live), out=target)
    return Rows(values=target, faults=faults)


def listed(values: Sequence[Any], faults: tuple[Fault, ...]) -> Rows:
    """The images as they are, None at faulty rows."""
    return Rows(values=[None if isinstance(value, Fault) else value for value in values], faults=faults)


def unlike(values: Sequence[Any], first: torch.Tensor) -> CollateError:
    """The error that names the first image that does not fit to the first one, and its row."""
    row, other = next(
        (row, value)
        for row, value in enumerate(values)
        if isinstance(value, torch.Tensor) and (value.shape, value.dtype) != (first.shape, first.dtype)
    )
    return CollateError(
        "the images of one batch differ and cannot be one tensor",
        got=f"{tuple(first.shape)} {first.dtype} and {tuple(other.shape)} {other.dtype}",
        accepted="images of one shape and type",
        remedy="End the geometry with a fixed size (Resize((H, W)), RandomResizedCrop, CenterCrop), or give the field "
        'a rule in collate=: "list" keeps the images as they are, "pad" fills them up',
        stage="collate",
        row=row,
    )
