"""Points of a whole batch, moved as torchvision moves those of one sample (see `boxes.py`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch

from headrace.contracts import I64, Bools
from headrace.recipes.geometry import CenterCrop, Flip, RandomCrop, RandomIoUCrop, RandomResizedCrop, Resize
from headrace.recipes.joint.placement import Placement
from headrace.recipes.joint.steps import ClampPoints, MemberStep, Retype


@dataclass(slots=True, kw_only=True)
class Points:
    """The points of a batch, one row's after the other's."""

    values: torch.Tensor
    """Shape (points, 2): x and y."""
    rows: torch.Tensor
    """The row of each point, rising, shape (points,)."""
    canvas: torch.Tensor
    """Height and width of each row's canvas, shape (rows, 2)."""


def join_points(values: Iterable[torch.Tensor], sizes: I64) -> Points:
    """The points of several rows.

    Args:
        values: Shape (..., 2) for each row, all of one type.
        sizes: Height and width of each row's canvas, shape (rows, 2).
    """
    pieces = [value.reshape(-1, 2) for value in values]
    counts = torch.tensor([len(piece) for piece in pieces])
    return Points(
        values=torch.cat(pieces),
        rows=torch.repeat_interleave(torch.arange(len(pieces)), counts),
        canvas=torch.from_numpy(np.ascontiguousarray(sizes)),
    )


def move_points(points: Points, steps: Iterable[MemberStep], placement: Placement) -> None:
    """Does the steps to the points, in place of what they were."""
    for step in steps:
        match step:
            case RandomResizedCrop():
                crop(points, placement.crops)
                resize(points, placement.resized)
            case Resize():
                resize(points, placement.resized)
            case RandomIoUCrop():
                crop(points, placement.crops)
            case CenterCrop() | RandomCrop():
                crop(points, placement.windows)
            case Flip():
                flip(points, placement.flips)
            case ClampPoints():
                clamp(points)
            case Retype():
                points.values = points.values if step.keypoints is None else points.values.to(step.keypoints)


def crop(points: Points, windows: I64) -> None:
    """`crop_keypoints`: (top, left, height, width) of each row's canvas is left."""
    given = torch.from_numpy(np.ascontiguousarray(windows))
    offsets = given[points.rows][:, [1, 0]]
    points.values = points.values - offsets.to(points.values.dtype)
    points.canvas = given[:, 2:]


def resize(points: Points, sizes: I64) -> None:
    """`resize_keypoints`: each row's canvas gets this height and width."""
    after = torch.from_numpy(np.ascontiguousarray(sizes))
    # torchvision divides Python numbers (doubles) and rounds the quotient to float32
    ratios = (after.double() / points.canvas.double()).float()
    points.values = points.values.mul(ratios[points.rows][:, [1, 0]]).to(points.values.dtype)
    points.canvas = after


def flip(points: Points, flips: Bools) -> None:
    """`horizontal_flip_keypoints`, for the rows that are mirrored."""
    last = (points.canvas[points.rows, 1] - 1).to(points.values.dtype)
    values = points.values.clone()
    values[:, 0] = values[:, 0].sub_(last).neg_()
    mirrored = torch.from_numpy(np.ascontiguousarray(flips))[points.rows]
    points.values = torch.where(mirrored[:, None], values, points.values)


def clamp(points: Points) -> None:
    """`clamp_keypoints`: to the last pixel, not to the edge as boxes are."""
    given = points.values.dtype
    values = points.values if points.values.is_floating_point() else points.values.float()
    limits = (points.canvas[points.rows][:, [1, 0]] - 1).to(values.dtype)
    points.values = torch.minimum(values.clamp(min=0), limits).to(given)
