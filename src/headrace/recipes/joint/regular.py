"""Which rows of a batch are moved by the batch; the others go through torchvision, one sample at a time.

What is unusual, a mask of another size than its image, labels that are not one a box, is not judged here: torchvision
does with such a sample what it does, or raises.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headrace.contracts import I32, Bools
from headrace.recipes.geometry import RandomCrop, RandomIoUCrop, RandomResizedCrop
from headrace.recipes.joint.placement import Placement
from headrace.recipes.joint.sample_form import Member, SampleForm
from headrace.recipes.joint.steps import Sanitize
from headrace.recipes.span import Span

MASK_TYPES = frozenset({torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32})
"""Types of masks whose resampling torchvision does in float32, by the rule of `masks.sources`."""

WIDE_TYPES = frozenset({torch.int32, torch.int64})
EXACT_IN_FLOAT32 = 1 << 24
"""Whole numbers up to here survive torchvision's way through float32."""


def regular_rows(
    span: Span, form: SampleForm, leaves: Mapping[int, Sequence[Any]], params: Sequence[I32], placement: Placement
) -> Bools:
    """True for each row that is moved by the batch.

    Args:
        span: What is done.
        form: The sample.
        leaves: Members as tensors, and labels, by place, one a row.
        params: Of each image leaf, what the kernel reports (`BatchReport.params`), shape (rows, 8).
        placement: Where the first image went.
    """
    first = params[0]
    regular = done_by_kernel(first)
    sized = isinstance(span.geometry.crop, (RandomCrop, RandomIoUCrop, RandomResizedCrop))
    for other in params[1:]:
        regular &= done_by_kernel(other)
        if sized:
            regular &= (other[:, :2] == first[:, :2]).all(axis=1)
    sizes = [tuple(size) for size in placement.sizes.tolist()]
    for place, member in form.members.items():
        regular &= usual_values(leaves[place], member, sizes)
    for step in span.steps:
        if isinstance(step, Sanitize):
            regular &= usual_labels(step, form, leaves, placement)
    return regular


def done_by_kernel(params: I32) -> Bools:
    """True for rows whose image the kernel moved: their box is not empty."""
    return (params[:, 4] > 0) & (params[:, 5] > 0)


def usual_values(values: Sequence[Any], member: Member, sizes: Sequence[tuple[int, ...]]) -> Bools:
    """True where a member is there, of the type that the others have, and a mask of the size of its image."""
    dtype = next((value.dtype for value in values if isinstance(value, torch.Tensor)), None)
    if dtype is None or (member.kind == "mask" and dtype not in MASK_TYPES):
        return np.zeros(len(values), dtype=np.bool_)
    return np.array(
        [
            isinstance(value, torch.Tensor)
            and value.dtype is dtype
            and (member.kind != "mask" or (tuple(value.shape) == size and is_exact(value)))
            for value, size in zip(values, sizes, strict=True)
        ]
    )


def is_exact(mask: torch.Tensor) -> bool:
    """Whether torchvision's way through float32 changes none of the values."""
    return mask.dtype not in WIDE_TYPES or not mask.numel() or int(mask.abs().max()) <= EXACT_IN_FLOAT32


def usual_labels(step: Sanitize, form: SampleForm, leaves: Mapping[int, Sequence[Any]], placement: Placement) -> Bools:
    """True where each label leaf has one entry a box, and a mask cannot be mistaken for one mask a box.

    torchvision indexes every mask by the boxes that stay, and goes on where that fails: it does not fail where a mask
    happens to have as many rows as there are boxes.
    """
    boxes = leaves[form.places("boxes")[0]]
    counts = np.array([len(value) if isinstance(value, torch.Tensor) else -1 for value in boxes])
    usual = np.ones(len(counts), dtype=np.bool_)
    for place in step.labels:
        usual &= [
            isinstance(value, torch.Tensor) and value.ndim > 0 and len(value) == count
            for value, count in zip(leaves[place], counts.tolist(), strict=True)
        ]
    if form.places("mask"):
        usual &= (counts != placement.sizes[:, 0]) & (counts != placement.windows[:, 2])
    return usual
