"""RandomIoUCrop of one sample in plain Python: the reference of `native/kernel/iou_crop.cpp`.

The rules, and the order in which numbers are drawn, are those of torchvision's `RandomIoUCrop.make_params`. What
differs: numbers are counted, not torch's; a crop without a row of pixels is another try, where torchvision divides by
zero; and the search ends some time, where torchvision would go on for ever.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from headrace._base.hashing import uniform
from headrace.recipes.geometry import RandomIoUCrop

MOST_NUMBERS = 1 << 22
"""Random numbers that are drawn for one sample."""

MOST_LOOKS = 1 << 28
"""Boxes that the crops of one sample are compared with."""

MOST_OF_A_TRY = 4
"""Width, height, left, top."""

Window: TypeAlias = tuple[int, int, int, int]
"""Top, left, height and width."""
Corners: TypeAlias = npt.NDArray[np.float32] | npt.NDArray[np.float64]


class Numbers:
    """The random numbers of one op, one after another.

    Args:
        key: Key of the sample.
        op: Position of the op.
        most: How many there are.
    """

    def __init__(self, key: int, op: int, most: int) -> None:
        self.keys = np.array([key], dtype=np.uint64)
        self.op = op
        self.most = most
        self.drawn = 0

    def left(self, count: int) -> bool:
        """Whether there are so many more."""
        return self.drawn + count <= self.most

    def next(self) -> float:
        """A number in [0, 1)."""
        self.drawn += 1
        return float(uniform(self.keys, self.op, self.drawn - 1)[0])


def iou_window(
    step: RandomIoUCrop,
    key: int,
    size: tuple[int, int],
    corners: Corners,
    most_numbers: int = MOST_NUMBERS,
    most_looks: int = MOST_LOOKS,
) -> Window | None:
    """The crop of one sample.

    Args:
        step: The rules.
        key: Key of the sample.
        size: Height and width of the image.
        corners: Left, top, right and bottom of each box, shape (boxes, 4).
        most_numbers: Random numbers that may be drawn.
        most_looks: Boxes that crops may be compared with.

    Returns:
        Top, left, height and width; None where the sample stays as it is.

    Raises:
        LookupError: No crop was found.
    """
    numbers, looks = Numbers(key, step.op, most_numbers), 0
    trials = step.trials if len(corners) else 0
    while numbers.left(1):
        least = step.options[int(numbers.next() * len(step.options))]
        if least >= 1.0:
            return None
        for _ in range(trials):
            if not numbers.left(MOST_OF_A_TRY):
                raise LookupError("no crop was found")
            window = window_of(step, size, numbers)
            looks += len(corners) if window is not None else 0
            if looks > most_looks:
                raise LookupError("no crop was found")
            if window is not None and overlaps_enough(corners, window, least):
                return window
    raise LookupError("no crop was found")


def window_of(step: RandomIoUCrop, size: tuple[int, int], numbers: Numbers) -> Window | None:
    """One try; None where it is empty or its ratio is not allowed."""
    low, high = step.scale
    width = int(size[1] * (low + numbers.next() * (high - low)))
    height = int(size[0] * (low + numbers.next() * (high - low)))
    if width < 1 or height < 1 or not step.ratio[0] <= width / height <= step.ratio[1]:
        return None
    left, top = int(numbers.next() * (size[1] - width)), int(numbers.next() * (size[0] - height))
    return top, left, height, width


def overlaps_enough(corners: Corners, window: Window, least: float) -> bool:
    """Whether one of the boxes whose centre lies in the crop overlaps it enough."""
    top, left, height, width = window
    crop = np.array([left, top, left + width, top + height], dtype=corners.dtype)
    x, y = (corners[:, 0] + corners[:, 2]) * 0.5, (corners[:, 1] + corners[:, 3]) * 0.5
    within = corners[(crop[0] < x) & (x < crop[2]) & (crop[1] < y) & (y < crop[3])]
    shared = np.minimum(within[:, 2:], crop[2:]) - np.maximum(within[:, :2], crop[:2])
    both = np.maximum(shared, 0).prod(axis=1)
    areas = (within[:, 2] - within[:, 0]) * (within[:, 3] - within[:, 1])
    with np.errstate(divide="ignore", invalid="ignore"):
        overlaps = both / (areas + (crop[2] - crop[0]) * (crop[3] - crop[1]) - both)
    return bool((~(overlaps < corners.dtype.type(least))).any())
