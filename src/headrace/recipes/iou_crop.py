"""RandomIoUCrop of many samples: where each is cropped, which its boxes and the size of its image decide.

No pixel has a part in that: crops are known before an image is decoded. One native call decides a batch; its reference
is `iou_crop_reference`, and a property test holds the two equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headrace import _native
from headrace.contracts import I64, U64, Bools
from headrace.recipes.geometry import RandomIoUCrop

NOT_FOUND, AS_IT_IS, CROPPED = range(3)
"""What became of a sample, as the native call says it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IoUCrops:
    """The decisions for some samples."""

    windows: I64
    """Top, left, height and width, the whole image where it is not cropped, shape (rows, 4)."""
    cropped: Bools
    """False where a sample stays as it is, shape (rows,)."""
    found: Bools
    """False where no crop was found that the rules allow, shape (rows,)."""


def iou_crops(step: RandomIoUCrop, keys: U64, sizes: I64, corners: torch.Tensor, counts: I64) -> IoUCrops:
    """Decides for a batch.

    Args:
        step: The rules.
        keys: Key of each sample, shape (rows,).
        sizes: Height and width of each image, shape (rows, 2).
        corners: Left, top, right and bottom of all boxes, one row's after the other's, shape (boxes, 4); boxes of other
            types than float64 are compared as float32.
        counts: How many of them each row has, shape (rows,).
    """
    compared = corners if corners.dtype is torch.float64 else corners.float()
    windows, cuts = _native.iou_crops(
        keys,
        np.ascontiguousarray(sizes, dtype=np.int64),
        np.ascontiguousarray(compared.numpy()),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        np.array(step.options, dtype=np.float64),
        step.scale,
        step.ratio,
        step.trials,
        step.op,
    )
    return IoUCrops(windows=windows.astype(np.int64), cropped=cuts == CROPPED, found=cuts != NOT_FOUND)


def centers_within(corners: torch.Tensor, windows: Any) -> torch.Tensor:
    """Which boxes have their centre inside of a crop, as torchvision's `RandomIoUCrop` computes it.

    Args:
        corners: Left, top, right and bottom, shape (..., 4).
        windows: Top, left, height and width of the crop of each box, four numbers or tensors of shape (...).
    """
    top, left, height, width = windows
    x, y = 0.5 * (corners[..., 0] + corners[..., 2]), 0.5 * (corners[..., 1] + corners[..., 3])
    within: torch.Tensor = (left < x) & (x < left + width) & (top < y) & (y < top + height)
    return within
