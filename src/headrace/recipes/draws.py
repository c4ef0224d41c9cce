"""Random boxes and flips of many samples at once: the reference of what the native kernel draws.

Each draw is a pure function of (key, op): `uniform(key, op, index)` counts through the numbers of one op. The kernel
(`native/kernel/draws.cpp`) draws the same from the same keys, and a property test holds the two equal, so that masks,
boxes and transforms left in Python follow the image. Distributions are those of torchvision's transforms of the same
names; sizes are in pixels, boxes are (top, left, height, width).
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from headrace._base.exact_math import exp
from headrace._base.hashing import uniform
from headrace.contracts import I32, I64, U64, Bools

F64 = npt.NDArray[np.float64]

NUM_TRIES = 10
"""Tries of a random resized crop before it falls back to the centre, as in torchvision."""
NUMBERS_PER_TRY = 4
"""Area, aspect ratio, top, left."""


def log_ratio(ratio: tuple[float, float]) -> tuple[float, float]:
    """Logarithms of the smallest and largest aspect ratio, rounded to float32 as torchvision holds them.

    After the rounding no last-place difference between mathematical libraries is left.
    """
    return float(np.float32(math.log(ratio[0]))), float(np.float32(math.log(ratio[1])))


def random_resized_crop_boxes(
    keys: U64,
    heights: I32,
    widths: I32,
    scale: tuple[float, float],
    ratio: tuple[float, float],
    op: int,
) -> I32:
    """Boxes of RandomResizedCrop before the resize, shape (samples, 4).

    Args:
        keys: Key of each sample, shape (samples,).
        heights: Height of each image, shape (samples,).
        widths: Width of each image, shape (samples,).
        scale: Smallest and largest share of the image's area.
        ratio: Smallest and largest width / height.
        op: Position of the op among the random ops of the recipe.
    """
    tall, wide = heights.astype(np.int64), widths.astype(np.int64)
    boxes = largest_boxes(tall, wide, ratio)
    left_over = np.arange(len(keys))
    for attempt in range(NUM_TRIES):
        if not left_over.size:
            break
        limits = np.stack([tall, wide], axis=1)[left_over]
        drawn = drawn_boxes(keys[left_over], limits[:, 0], limits[:, 1], scale, log_ratio(ratio), op, attempt)
        fits = ((drawn[:, 2:] > 0) & (drawn[:, 2:] <= limits)).all(axis=1)
        boxes[left_over[fits]] = drawn[fits]
        left_over = left_over[~fits]
    return boxes.astype(np.int32)


def drawn_boxes(
    keys: U64,
    heights: I64,
    widths: I64,
    scale: tuple[float, float],
    log_ratios: tuple[float, float],
    op: int,
    attempt: int,
) -> I64:
    """One try for each sample, shape (samples, 4); the box may be too large or empty."""
    index = attempt * NUMBERS_PER_TRY
    area = (heights * widths).astype(np.float64) * between(scale, uniform(keys, op, index))
    aspect = exp(between(log_ratios, uniform(keys, op, index + 1)))
    box_widths = np.rint(np.sqrt(area * aspect)).astype(np.int64)
    box_heights = np.rint(np.sqrt(area / aspect)).astype(np.int64)
    tops = below(heights - box_heights + 1, uniform(keys, op, index + 2))
    lefts = below(widths - box_widths + 1, uniform(keys, op, index + 3))
    return np.stack([tops, lefts, box_heights, box_widths], axis=1)


def largest_boxes(heights: I64, widths: I64, ratio: tuple[float, float]) -> I64:
    """The largest centred boxes whose aspect ratio is allowed, one pixel at least each way, shape (samples, 4)."""
    aspect = widths / heights
    lower, upper = aspect < ratio[0], aspect > ratio[1]
    box_heights = np.where(lower, np.maximum(np.rint(widths / ratio[0]), 1), heights).astype(np.int64)
    box_widths = np.where(upper, np.maximum(np.rint(heights * ratio[1]), 1), widths).astype(np.int64)
    return np.stack([(heights - box_heights) // 2, (widths - box_widths) // 2, box_heights, box_widths], axis=1)


def random_crop_boxes(keys: U64, heights: I32, widths: I32, size: tuple[int, int], op: int) -> I32:
    """Boxes of RandomCrop to `size` (height, width), which fits into every image, shape (samples, 4)."""
    tops = below(heights.astype(np.int64) - size[0] + 1, uniform(keys, op, 0))
    lefts = below(widths.astype(np.int64) - size[1] + 1, uniform(keys, op, 1))
    return boxes_of_size(tops, lefts, size)


def center_crop_boxes(heights: I32, widths: I32, size: tuple[int, int]) -> I32:
    """Boxes of CenterCrop to `size` (height, width), which fits into every image: halves go to the even number."""
    tops, lefts = np.rint((heights - size[0]) / 2.0), np.rint((widths - size[1]) / 2.0)
    return boxes_of_size(tops.astype(np.int64), lefts.astype(np.int64), size)


def resized_sizes(
    heights: I32, widths: I32, resize_height: int, resize_width: int = 0, max_size: int = 0
) -> tuple[I64, I64]:
    """Heights and widths after Resize.

    Args:
        heights: Height of each image, shape (samples,).
        widths: Width of each image, shape (samples,).
        resize_height: Height of the result; or its shorter edge where `resize_width` is 0, the longer edge then being
            `int(resize_height * longer / shorter)`.
        resize_width: Width of the result, or 0.
        max_size: Largest longer edge (the shorter one shrinks with it), or 0.
    """
    if resize_width:
        return np.full(heights.shape, resize_height, np.int64), np.full(widths.shape, resize_width, np.int64)
    shorter, longer = np.minimum(heights, widths).astype(np.int64), np.maximum(heights, widths).astype(np.int64)
    new_shorter, new_longer = np.full_like(shorter, resize_height), resize_height * longer // shorter
    if max_size:
        capped = new_longer > max_size
        new_shorter = np.where(capped, max_size * new_shorter // np.maximum(new_longer, 1), new_shorter)
        new_longer = np.where(capped, max_size, new_longer)
    upright = widths <= heights
    return np.where(upright, new_longer, new_shorter), np.where(upright, new_shorter, new_longer)


def flips(keys: U64, probability: float, op: int) -> Bools:
    """Whether each sample is mirrored, shape (samples,)."""
    return uniform(keys, op, 0) < probability


def between(limits: tuple[float, float], shares: F64) -> F64:
    """Numbers that divide the way from the first limit to the second by these shares."""
    return limits[0] + shares * (limits[1] - limits[0])


def below(bounds: I64, shares: F64) -> I64:
    """Whole numbers from 0 to `bounds` (exclusive), as far along as the shares."""
    return (shares * bounds).astype(np.int64)


def boxes_of_size(tops: I64, lefts: I64, size: tuple[int, int]) -> I32:
    """Boxes of one size at these places, shape (samples, 4)."""
    heights, widths = np.full_like(tops, size[0]), np.full_like(lefts, size[1])
    return np.stack([tops, lefts, heights, widths], axis=1).astype(np.int32)
