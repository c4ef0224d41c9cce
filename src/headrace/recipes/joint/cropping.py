"""RandomIoUCrop of the rows of one batch, decided for each as soon as the size of its image is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from headrace.contracts import I32, I64, U64
from headrace.recipes.geometry import Geometry, RandomIoUCrop
from headrace.recipes.iou_crop import iou_crops
from headrace.recipes.joint.boxes import convert
from headrace.recipes.joint.sample_form import SampleForm

NO_WINDOW = (0, 0, 1, 1)
"""What is cut out of an image whose row is left to torchvision: as little as the kernel takes."""


class Cropping:
    """Decides for the rows of a batch, by the size of one of their images; remembers what became of them.

    Args:
        step: The rules.
        keys: Key of each sample, shape (rows,).
        boxes: Boxes of each row as they are when it is cropped, shape (boxes, 4); anything else than a tensor of the
            type of the others leaves the row to torchvision.
        format_: Their format.
    """

    def __init__(self, step: RandomIoUCrop, keys: U64, boxes: Sequence[Any], format_: str) -> None:
        self.step = step
        self.keys = keys
        first = next((value for value in boxes if is_list_of_boxes(value)), torch.empty(0, 4))
        self.usable = np.array([is_list_of_boxes(value) and value.dtype is first.dtype for value in boxes])
        self.boxes = [value if usable else first[:0] for value, usable in zip(boxes, self.usable.tolist(), strict=True)]
        self.format = format_
        self.cropped = np.zeros(len(keys), dtype=np.bool_)
        """False where a sample stays as it is, shape (rows,)."""
        self.found = np.zeros(len(keys), dtype=np.bool_)
        """False where nothing was decided, or no crop was found, shape (rows,)."""

    def windows(self, rows: I64, sizes: I64) -> I32:
        """Top, left, height and width of the crop of some rows, shape (those rows, 4); tiny where there is none.

        Args:
            rows: Which rows of the batch.
            sizes: Height and width of the image of each of these, zeros where they are not known.
        """
        windows = np.tile(np.array(NO_WINDOW, dtype=np.int32), (len(rows), 1))
        known = np.flatnonzero(self.usable[rows] & (sizes > 0).all(axis=1))
        if not known.size:
            return windows
        chosen = rows[known]
        boxes = [self.boxes[row] for row in chosen.tolist()]
        corners = convert(torch.cat(boxes), self.format, "XYXY")
        counts = np.fromiter(map(len, boxes), dtype=np.int64)
        crops = iou_crops(self.step, self.keys[chosen], sizes[known], corners, counts)
        self.cropped[chosen], self.found[chosen] = crops.cropped, crops.found
        windows[known] = crops.windows
        return windows


def is_list_of_boxes(value: Any) -> bool:
    """Whether a value is a tensor of shape (boxes, 4)."""
    return isinstance(value, torch.Tensor) and value.ndim == len("NC") and value.shape[1] == len("XYXY")


def croppings_of(
    geometry: Geometry, form: SampleForm, leaves: Mapping[int, Sequence[Any]], keys: U64
) -> dict[int, Cropping]:
    """By the place of each image what decides its crops; empty where they do not depend on boxes.

    Args:
        geometry: What is done to the images.
        form: The sample.
        leaves: Members as tensors, by place, one a row.
        keys: Key of each sample, shape (rows,).
    """
    step = geometry.crop
    if not isinstance(step, RandomIoUCrop):
        return {}
    place = form.places("boxes")[0]
    boxes, format_ = leaves[place], form.members[place].format
    return {image: Cropping(step, keys, boxes, format_) for image in form.images}
