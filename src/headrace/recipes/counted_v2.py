"""Twins of `torchvision.transforms.v2` that draw from the sample's counters.

They only replace `make_params`: everything that torchvision does with a whole sample (one box for image, mask and
boxes, pure tensors beside an image left alone) stays torchvision's.
"""

from __future__ import annotations

from typing import Any

import torch
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace.recipes import counted_detection
from headrace.recipes.draws_of_sample import crop_box, flips, iou_crop_box, resized_crop_box
from headrace.recipes.iou_crop import centers_within
from headrace.recipes.recognise import iou_crop_rules
from headrace.recipes.twin import twin_of

BOX_NAMES = ("top", "left", "height", "width")
"""torchvision's names of the numbers of a box, in our order."""


class CountedRandomResizedCrop(v2.RandomResizedCrop):  # type: ignore[misc]
    """Draws the box from the counters; crops and resizes as its parent."""

    draw_op: int

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The box, one for everything in the sample."""
        height, width = v2.query_size(flat_inputs)
        box = resized_crop_box(height, width, self.scale, self.ratio, self.draw_op)
        return dict(zip(BOX_NAMES, box, strict=True))


class CountedRandomCrop(v2.RandomCrop):  # type: ignore[misc]
    """Draws the place from the counters; pads and crops as its parent."""

    draw_op: int

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Padding and box under the parent's names; what is missing is padded on both sides, as there."""
        height, width = v2.query_size(flat_inputs)
        left, right, top, bottom = self.padding or (0, 0, 0, 0)
        if self.pad_if_needed:
            rows = max(self.size[0] - (height + top + bottom), 0)
            columns = max(self.size[1] - (width + left + right), 0)
            left, right, top, bottom = left + columns, right + columns, top + rows, bottom + rows
        padded = (height + top + bottom, width + left + right)
        box = crop_box(*padded, self.size, self.draw_op)
        return {
            **dict(zip(BOX_NAMES, box, strict=True)),
            "needs_crop": padded != tuple(self.size),
            "needs_pad": any((left, right, top, bottom)),
            "padding": [left, top, right, bottom],
        }


class CountedRandomIoUCrop(v2.RandomIoUCrop):  # type: ignore[misc]
    """Decides from the counters; crops as its parent."""

    draw_op: int

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The box and which boxes have their centre in it; nothing where the sample stays as it is.

        Raises:
            ValueError: No crop was found.
        """
        size, boxes = v2.query_size(flat_inputs), v2.get_bounding_boxes(flat_inputs)
        plain = boxes.as_subclass(torch.Tensor)
        corners = v2.functional.convert_bounding_box_format(plain, boxes.format, tv_tensors.BoundingBoxFormat.XYXY)
        box = iou_crop_box(iou_crop_rules(self, self.draw_op), size, corners)
        if box is None:
            return {}
        return {**dict(zip(BOX_NAMES, box, strict=True)), "is_within_crop_area": centers_within(corners, box)}


class CountedRandomHorizontalFlip(v2.Transform):  # type: ignore[misc]
    """Decides from the counters, once for everything in the sample."""

    def __init__(self, p: float, draw_op: int) -> None:
        super().__init__()
        self.p = p
        self.draw_op = draw_op

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """Whether to mirror."""
        return {"mirror": flips(self.p, self.draw_op)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One member of the sample, mirrored or as it was."""
        return v2.functional.horizontal_flip(inpt) if params["mirror"] else inpt


TWINS: dict[str, type] = {
    "RandomResizedCrop": CountedRandomResizedCrop,
    "RandomCrop": CountedRandomCrop,
    "RandomIoUCrop": CountedRandomIoUCrop,
    **counted_detection.TWINS,
}


def twin_v2(name: str, call: Any, position: int) -> Any:
    """The counted twin of a v2 transform, with all its settings."""
    if name == "RandomHorizontalFlip":
        return CountedRandomHorizontalFlip(call.p, position)
    return twin_of(call, TWINS[name], position)
