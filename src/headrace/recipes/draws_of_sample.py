"""Draws of the sample that is being transformed, one at a time, in the shapes that torchvision's transforms want."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headrace.contracts import I32, U64
from headrace.recipes import draws
from headrace.recipes.randomness import sample_key


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


def flips(probability: float, op: int) -> bool:
    """Whether the sample is mirrored."""
    return bool(draws.flips(one_key(), probability, op)[0])


def one_key() -> U64:
    """The key of the current sample as an array of one."""
    return np.array([sample_key()], dtype=np.uint64)


def one(value: int) -> I32:
    """An array of one number."""
    return np.array([value], dtype=np.int32)


def four(boxes: I32) -> tuple[int, int, int, int]:
    """The first box as plain numbers."""
    top, left, height, width = (int(value) for value in boxes[0])
    return top, left, height, width
