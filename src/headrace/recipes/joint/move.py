"""Members of many rows, moved as their images were."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headrace.contracts import I64, Allocate
from headrace.recipes.joint.boxes import Boxes, join_boxes, move_boxes
from headrace.recipes.joint.masks import move_masks
from headrace.recipes.joint.placement import Placement
from headrace.recipes.joint.points import join_points, move_points
from headrace.recipes.joint.sample_form import Member, SampleForm
from headrace.recipes.joint.steps import MemberStep, Retype, Sanitize

Column = Sequence[Any] | torch.Tensor
"""One value a row."""


def move_members(
    steps: Sequence[MemberStep],
    form: SampleForm,
    leaves: Mapping[int, Sequence[Any]],
    placement: Placement,
    allocate: Allocate,
) -> dict[int, Column]:
    """Does the steps of a span to the members of regular rows.

    Args:
        steps: What is done.
        form: The sample.
        leaves: Members and labels by place, one a row of the placement.
        placement: Where the images went.
        allocate: Where the memory of masks comes from.

    Returns:
        The members, and the labels where boxes were sanitised, by place; masks of one size as one tensor.
    """
    moved: dict[int, Column] = {}
    for place, member in form.members.items():
        if member.kind == "mask":
            moved[place] = retyped(move_masks(leaves[place], placement, allocate), steps)
        elif member.kind == "keypoints":
            moved[place] = move_point_leaf(leaves[place], steps, placement)
        else:
            moved |= move_box_leaf(place, member, steps, leaves, placement)
    return moved


def retyped(masks: Column, steps: Sequence[MemberStep]) -> Column:
    """The masks in the type that the last table of types gives them."""
    for step in steps:
        if isinstance(step, Retype) and step.mask is not None:
            masks = masks.to(step.mask) if isinstance(masks, torch.Tensor) else [mask.to(step.mask) for mask in masks]
    return masks


def move_point_leaf(
    values: Sequence[torch.Tensor], steps: Sequence[MemberStep], placement: Placement
) -> list[torch.Tensor]:
    """The points of each row, in the shapes that they had."""
    points = join_points(values, placement.sizes)
    move_points(points, steps, placement)
    counts = [value.numel() // 2 for value in values]
    pieces = torch.split(points.values, counts)
    return [piece.reshape(value.shape) for piece, value in zip(pieces, values, strict=True)]


def move_box_leaf(
    place: int,
    member: Member,
    steps: Sequence[MemberStep],
    leaves: Mapping[int, Sequence[torch.Tensor]],
    placement: Placement,
) -> dict[int, Column]:
    """The boxes of each row, and the labels of those that are left."""
    boxes = join_boxes(leaves[place], member.format, placement.sizes)
    boxes.clamping = member.clamping
    move_boxes(boxes, steps, placement)
    counts = boxes.counts()
    moved: dict[int, Column] = {place: list(torch.split(boxes.values, counts.tolist()))}
    for step in steps:
        if isinstance(step, Sanitize):
            moved |= {label: list(kept_entries(leaves[label], boxes, counts)) for label in step.labels}
    return moved


def kept_entries(labels: Sequence[torch.Tensor], boxes: Boxes, counts: I64) -> Iterator[torch.Tensor]:
    """The entries of each row's labels that belong to boxes that are left."""
    starts = np.cumsum([0, *map(len, labels)])[:-1]
    kept = torch.split(boxes.kept, counts.tolist())
    for label, rows, start in zip(labels, kept, starts.tolist(), strict=True):
        yield label[rows - start]
