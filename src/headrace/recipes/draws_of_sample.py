"""Draws of the sample that is being transformed, one at a time, in the shapes that torchvision's transforms want."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from headrace._base.hashing import uniform
from headrace.contracts import I32, I64, U64
from headrace.recipes import draws
from headrace.recipes.geometry import RandomIoUCrop
from headrace.recipes.iou_crop import iou_crops
from headrace.recipes.iou_crop_reference import MOST_LOOKS, MOST_NUMBERS
from headrace.recipes.randomness import sample_key

NO_CROP = (
    f"no crop overlaps a box of the sample as sampler_options ask for, in {MOST_NUMBERS:,} random numbers or "
    f"{MOST_LOOKS:,} looks at boxes; torchvision would search for ever. Let 1.0, which leaves a sample as it is, be "
    "among sampler_options"
)


def resized_crop_box(
    height: int, width: int, scale: Sequence[float], ratio: Sequence[float], op: int
) -> tuple[int, int, int, int]:
    """Top, left, height and width of a random resized crop of an image of this size."""
    boxes = draws.random_resized_crop_boxes(
        one_key(), one(height), one(width), (float(scale[0]), float(scale[1])), (float(ratio[0]), float(ratio[1])), op
    )
    return four(boxes)


def crop_box(height: int, width: int, size: Sequence[int], op: int) -> tuple[int, int, int, int]:
    """Top, left, height and width of a random crop of the given (height, width).

    Raises:
        ValueError: The image is smaller, as torchvision says it.
    """
    if height < size[0] or width < size[1]:
        raise ValueError(f"required crop size {tuple(size)} is larger than the image of size {(height, width)}")
    return four(draws.random_crop_boxes(one_key(), one(height), one(width), (int(size[0]), int(size[1])), op))


def iou_crop_box(step: RandomIoUCrop, size: Sequence[int], corners: torch.Tensor) -> tuple[int, int, int, int] | None:
    """Top, left, height and width of a random crop that overlaps a box enough, None where the sample stays as it is.

    Args:
        step: The rules.
        size: Height and width of the image.
        corners: Left, top, right and bottom of each box, shape (..., 4).

    Raises:
        ValueError: No crop was found.
    """
    flat = corners.reshape(-1, 4)
    crops = iou_crops(step, one_key(), np.array([size], dtype=np.int64), flat, np.array([len(flat)]))
    if not crops.found[0]:
        raise ValueError(NO_CROP)
    return four(crops.windows) if crops.cropped[0] else None


def flips(probability: float, op: int) -> bool:
    """Whether the sample is mirrored."""
    return bool(draws.flips(one_key(), probability, op)[0])


def number(op: int, index: int) -> float:
    """A uniform number of the current sample, in [0, 1)."""
    return float(uniform(one_key(), op, index)[0])


def one_key() -> U64:
    """The key of the current sample as an array of one."""
    return np.array([sample_key()], dtype=np.uint64)


def one(value: int) -> I32:
    """An array of one number."""
    return np.array([value], dtype=np.int32)


def four(boxes: I32 | I64) -> tuple[int, int, int, int]:
    """The first box as plain numbers."""
    top, left, height, width = (int(value) for value in boxes[0])
    return top, left, height, width
