"""Boxes of a whole batch, moved as torchvision moves those of one sample.

Every expression is torchvision's (`torchvision.transforms.v2.functional`, `_geometry.py` and `_meta.py`) with the
numbers of each box's row in the place of one sample's, in the same types and the same order: so results are equal, not
close. Conversions between formats are torchvision's own functions, which do not care whose boxes they get.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headrace.contracts import I64
from headrace.recipes.geometry import CenterCrop, Flip, RandomCrop, RandomIoUCrop, RandomResizedCrop, Resize
from headrace.recipes.iou_crop import centers_within
from headrace.recipes.joint.placement import Placement
from headrace.recipes.joint.steps import ClampBoxes, Convert, MemberStep, Retype, Sanitize, SetClamping


@dataclass(slots=True, kw_only=True)
class Boxes:
    """The boxes of a batch, one row's after the other's."""

    values: torch.Tensor
    """Shape (boxes, 4)."""
    rows: torch.Tensor
    """The row of each box, rising, shape (boxes,)."""
    format: str
    canvas: torch.Tensor
    """Height and width of each row's canvas, shape (rows, 2)."""
    kept: torch.Tensor
    """Which of the boxes that were there at first are left, shape (boxes,)."""
    clamping: str | None = "soft"

    def counts(self) -> I64:
        """Boxes of each row, shape (rows,)."""
        return np.bincount(self.rows.numpy(), minlength=len(self.canvas))


def join_boxes(values: Iterable[torch.Tensor], format_: str, sizes: I64) -> Boxes:
    """The boxes of several rows.

    Args:
        values: Shape (boxes, 4) for each row, all of one type.
        format_: Their format.
        sizes: Height and width of each row's canvas, shape (rows, 2).
    """
    pieces = list(values)
    flat = torch.cat(pieces)
    counts = torch.tensor([len(piece) for piece in pieces])
    return Boxes(
        values=flat,
        rows=torch.repeat_interleave(torch.arange(len(pieces)), counts),
        format=format_,
        canvas=torch.from_numpy(np.ascontiguousarray(sizes)),
        kept=torch.arange(len(flat)),
    )


def move_boxes(boxes: Boxes, steps: Iterable[MemberStep], placement: Placement) -> None:
    """Does the steps to the boxes, in place of what they were."""
    for step in steps:
        place(boxes, step, placement)
        match step:
            case Convert():
                boxes.values = convert(boxes.values, boxes.format, step.format)
                boxes.format = step.format
            case SetClamping():
                boxes.clamping = step.mode
            case ClampBoxes():
                clamp(boxes, boxes.clamping if step.mode == "auto" else step.mode)
            case Sanitize():
                sanitize(boxes, step)
            case Retype():
                boxes.values = boxes.values if step.boxes is None else boxes.values.to(step.boxes)


def place(boxes: Boxes, step: MemberStep, placement: Placement) -> None:
    """Moves the boxes, where the step is one of geometry."""
    match step:
        case RandomResizedCrop():
            crop(boxes, placement.crops)
            resize(boxes, placement.resized)
        case RandomIoUCrop():
            crop_to_some(boxes, placement)
        case Resize():
            resize(boxes, placement.resized)
        case CenterCrop():
            crop(boxes, placement.windows)
        case RandomCrop():
            crop_where_larger(boxes, placement.windows)
        case Flip():
            flip(boxes, placement.flips)


def crop(boxes: Boxes, windows: I64) -> None:
    """`crop_bounding_boxes`: (top, left, height, width) of each row's canvas is left."""
    given = torch.from_numpy(np.ascontiguousarray(windows))
    top, left = given[boxes.rows, 0], given[boxes.rows, 1]
    none = torch.zeros_like(top)
    offsets = torch.stack([left, top, *([left, top] if boxes.format == "XYXY" else [none, none])], dim=1)
    boxes.values = boxes.values - offsets.to(boxes.values.dtype)
    boxes.canvas = given[:, 2:]
    clamp(boxes, boxes.clamping)


def crop_where_larger(boxes: Boxes, windows: I64) -> None:
    """`RandomCrop` does nothing, and so clamps nothing, where the canvas has the size of the crop."""
    given = torch.from_numpy(np.ascontiguousarray(windows))
    same = (boxes.canvas == given[:, 2:]).all(dim=1)
    before = boxes.values
    crop(boxes, windows)
    boxes.values = torch.where(same[boxes.rows][:, None], before, boxes.values)


def crop_to_some(boxes: Boxes, placement: Placement) -> None:
    """`RandomIoUCrop` empties the boxes whose centre is outside, so that sanitising takes them out."""
    windows = torch.from_numpy(np.ascontiguousarray(placement.crops))[boxes.rows]
    within = centers_within(convert(boxes.values, boxes.format, "XYXY"), windows.unbind(dim=1))
    before = boxes.values
    crop(boxes, placement.crops)
    cropped = boxes.values.masked_fill(~within[:, None], 0)
    boxes.values = (
        cropped
        if placement.cropped is None
        else torch.where(torch.from_numpy(placement.cropped)[boxes.rows][:, None], cropped, before)
    )


def resize(boxes: Boxes, sizes: I64) -> None:
    """`resize_bounding_boxes`: each row's canvas gets this height and width."""
    after = torch.from_numpy(np.ascontiguousarray(sizes))
    # torchvision divides Python numbers (doubles) and rounds the quotient to float32
    ratios = (after.double() / boxes.canvas.double()).float()
    scales = ratios[boxes.rows][:, [1, 0, 1, 0]]
    boxes.values = boxes.values.mul(scales).to(boxes.values.dtype)
    boxes.canvas = after


def flip(boxes: Boxes, flips: Any) -> None:
    """`horizontal_flip_bounding_boxes`, for the rows that are mirrored."""
    values, width = boxes.values.clone(), boxes.canvas[boxes.rows, 1].to(boxes.values.dtype)
    if boxes.format == "XYXY":
        values[:, [2, 0]] = values[:, [0, 2]].sub_(width[:, None]).neg_()
    elif boxes.format == "XYWH":
        values[:, 0].add_(values[:, 2]).sub_(width).neg_()
    else:
        values[:, 0].sub_(width).neg_()
    mirrored = torch.from_numpy(np.ascontiguousarray(flips))[boxes.rows]
    boxes.values = torch.where(mirrored[:, None], values, boxes.values)


def clamp(boxes: Boxes, mode: str | None) -> None:
    """`clamp_bounding_boxes`; for boxes along the axes, soft and hard are the same."""
    if mode is None:
        return
    given = boxes.values.dtype
    values = boxes.values if boxes.values.is_floating_point() else boxes.values.float()
    corners = convert(values.clone(), boxes.format, "XYXY")
    limits = boxes.canvas[boxes.rows][:, [1, 0, 1, 0]].to(corners.dtype)
    corners = torch.minimum(corners.clamp(min=0), limits)
    boxes.values = convert(corners, "XYXY", boxes.format).to(given)


def sanitize(boxes: Boxes, step: Sanitize) -> None:
    """`SanitizeBoundingBoxes`: what is too small, or not inside of the canvas, goes."""
    corners = convert(boxes.values, boxes.format, "XYXY")
    height, width = boxes.canvas[boxes.rows].unbind(dim=1)
    widths, heights = corners[:, 2] - corners[:, 0], corners[:, 3] - corners[:, 1]
    valid = (widths >= step.min_size) & (heights >= step.min_size) & (corners >= 0).all(dim=-1)
    valid &= widths * heights >= step.min_area
    valid &= (corners[:, 0] <= width) & (corners[:, 2] <= width)
    valid &= (corners[:, 1] <= height) & (corners[:, 3] <= height)
    boxes.values, boxes.rows, boxes.kept = boxes.values[valid], boxes.rows[valid], boxes.kept[valid]


def convert(values: torch.Tensor, old: str, new: str) -> torch.Tensor:
    """Boxes in another format, as torchvision computes them."""
    if old == new:
        return values
    # torchvision is optional and slow to import; where there are steps to do, the user has imported it already
    from torchvision.transforms.v2.functional import convert_bounding_box_format
    from torchvision.tv_tensors import BoundingBoxFormat

    return convert_bounding_box_format(  # type: ignore[no-any-return]
        values, old_format=BoundingBoxFormat[old], new_format=BoundingBoxFormat[new]
    )
