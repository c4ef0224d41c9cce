"""Where the pixels of each row of a batch came from and went to: the draws of one span, as arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headrace.contracts import I32, I64, Bools
from headrace.recipes.draws import resized_sizes
from headrace.recipes.geometry import Geometry, RandomResizedCrop


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Crop of the image, resize of that, window of the result, mirror: in this order, one of each a row."""

    sizes: I64
    """Height and width of each image, shape (rows, 2)."""
    crops: I64
    """Top, left, height and width that are cut out first, shape (rows, 4)."""
    resized: I64
    """Height and width that the crop is resized to, shape (rows, 2)."""
    windows: I64
    """Top, left, height and width that are kept of the resized crop, shape (rows, 4)."""
    flips: Bools
    """Whether the window is mirrored, shape (rows,)."""
    flip_first: bool = False
    """Whether the crop is what is mirrored, before the resize."""
    cropped: Bools | None = None
    """False where RandomIoUCrop left the row as it is, shape (rows,); None: there is no such step."""

    def take(self, rows: I64) -> Placement:
        """The placement of some rows."""
        return Placement(
            sizes=self.sizes[rows],
            crops=self.crops[rows],
            resized=self.resized[rows],
            windows=self.windows[rows],
            flips=self.flips[rows],
            flip_first=self.flip_first,
            cropped=None if self.cropped is None else self.cropped[rows],
        )


def placement_of(geometry: Geometry, params: I32, cropped: Bools | None = None) -> Placement:
    """Reads what the kernel reports of each row.

    Args:
        geometry: What was done.
        params: `BatchReport.params`, shape (rows, 8); a row that was not done has a box of no height.
        cropped: See `Placement.cropped`.
    """
    whole = params.astype(np.int64)
    sizes, boxes, flips = whole[:, :2], whole[:, 2:6], whole[:, 6] != 0
    if isinstance(geometry.crop, RandomResizedCrop):
        resized = np.broadcast_to(np.array([geometry.crop.height, geometry.crop.width]), sizes.shape)
        return Placement(sizes=sizes, crops=boxes, resized=resized, windows=at_origin(resized), flips=flips)
    if geometry.needs_boxes:
        resized = boxes[:, 2:]
        if geometry.resize is not None:
            resized = np.broadcast_to(np.array([geometry.resize.height, geometry.resize.width]), sizes.shape)
        return Placement(
            sizes=sizes,
            crops=boxes,
            resized=resized,
            windows=at_origin(resized),
            flips=flips,
            flip_first=geometry.flip_first,
            cropped=cropped,
        )
    resized = sizes
    if geometry.resize is not None:
        step, known = geometry.resize, np.maximum(sizes, 1)
        resized = np.stack(resized_sizes(known[:, 0], known[:, 1], step.height, step.width, step.max_size), axis=1)
    return Placement(sizes=sizes, crops=at_origin(sizes), resized=resized, windows=boxes, flips=flips)


def at_origin(sizes: I64) -> I64:
    """Boxes of these sizes in the upper left corner."""
    return np.concatenate([np.zeros_like(sizes), sizes], axis=1)
