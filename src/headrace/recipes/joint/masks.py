"""Masks, moved by nearest neighbour as torchvision moves them.

torchvision resizes masks with `torch.nn.functional.interpolate(mode="nearest")`, whose source of output `i` is
`floor(i * (in / out))` in float32 (`nearest_idx` in ATen's `UpSample.h`); Pillow's nearest is another rule.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import torch

from headrace import _native
from headrace.contracts import I64, Allocate
from headrace.recipes.joint.placement import Placement


def move_masks(
    masks: Sequence[torch.Tensor], placement: Placement, allocate: Allocate
) -> torch.Tensor | list[torch.Tensor]:
    """The masks of a batch, each of shape (H, W) and all of one type, moved as the rows of a placement.

    Returns:
        Shape (rows, height, width), over leased memory, where all come out at one size, else a list.
    """
    sizes = {tuple(size) for size in placement.windows[:, 2:].tolist()}
    if len(sizes) > 1:
        rows = [placement.take(np.array([row])) for row in range(len(masks))]
        return [move_alike([mask], one, allocate)[0] for mask, one in zip(masks, rows, strict=True)]
    return move_alike(masks, placement, allocate)


def move_alike(masks: Sequence[torch.Tensor], placement: Placement, allocate: Allocate) -> torch.Tensor:
    """Masks that come out at one size, in one native call."""
    arrays = [np.ascontiguousarray(mask.numpy()) for mask in masks]
    height, width = placement.windows[0, 2:].tolist()
    moved = allocate((len(arrays), height, width), arrays[0].dtype)
    _native.move_masks(
        np.array([array.ctypes.data for array in arrays], dtype=np.uint64),
        np.ascontiguousarray(placement.sizes),
        np.ascontiguousarray(placement.crops),
        np.ascontiguousarray(placement.resized),
        np.ascontiguousarray(placement.windows),
        placement.flips.astype(np.uint8),
        moved,
        placement.flip_first,
    )
    return torch.from_numpy(moved)


def move_mask(mask: npt.NDArray[np.generic], placement: Placement, row: int) -> npt.NDArray[np.generic]:
    """One mask of shape (H, W), moved as row `row` of a batch: the reference of the native code."""
    crop, resized, window = placement.crops[row], placement.resized[row], placement.windows[row]
    down = sources(int(crop[2]), int(resized[0]))[window[0] : window[0] + window[2]] + crop[0]
    across = sources(int(crop[3]), int(resized[1]))[window[1] : window[1] + window[3]] + crop[1]
    if placement.flips[row]:
        across = 2 * crop[1] + crop[3] - 1 - across if placement.flip_first else across[::-1]
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
