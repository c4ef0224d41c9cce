"""Masks, moved by nearest neighbour as torchvision moves them.

torchvision resizes masks with `torch.nn.functional.interpolate(mode="nearest")`, whose source of output `i` is
`floor(i * (in / out))` in float32 (`nearest_idx` in ATen's `UpSample.h`); Pillow's nearest is another rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from headrace.contracts import I64
from headrace.recipes.joint.placement import Placement


def move_masks(masks: Sequence[torch.Tensor], placement: Placement) -> torch.Tensor | list[torch.Tensor]:
    """The masks of a batch, each of shape (H, W), moved as the rows of a placement.

    Returns:
        Shape (rows, height, width) where all come out at one size, else a list.
    """
    moved = [torch.from_numpy(move_mask(mask.numpy(), placement, row)) for row, mask in enumerate(masks)]
    sizes = {tuple(mask.shape) for mask in moved}
    return torch.stack(moved) if len(sizes) == 1 else moved


def move_mask(mask: npt.NDArray[np.generic], placement: Placement, row: int) -> npt.NDArray[np.generic]:
    """One mask of shape (H, W), moved as row `row` of a batch: the reference of the native kernel."""
    crop, resized, window = placement.crops[row], placement.resized[row], placement.windows[row]
    down = sources(int(crop[2]), int(resized[0]))[window[0] : window[0] + window[2]] + crop[0]
    across = sources(int(crop[3]), int(resized[1]))[window[1] : window[1] + window[3]] + crop[1]
    if placement.flips[row]:
        across = across[::-1]
    moved: npt.NDArray[np.generic] = mask[down][:, across]
    return moved


def sources(in_size: int, out_size: int) -> I64:
    """The source of each output along one axis, shape (out_size,)."""
    if in_size == out_size:
        return np.arange(out_size)
    scale = np.float32(in_size) / np.float32(out_size)
    places = np.floor(np.arange(out_size, dtype=np.float32) * scale).astype(np.int64)
    limited: I64 = np.minimum(places, in_size - 1)
    return limited
