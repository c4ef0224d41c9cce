"""Twins of the transforms for detection in `torchvision.transforms.v2`, drawing from the counters of the sample.

As in `counted_v2`, only what is drawn is replaced. Numbers are drawn in torchvision's order.
"""

from __future__ import annotations

from typing import Any

from torchvision.transforms import v2

from headrace.recipes.draws_of_sample import number


class CountedRandomZoomOut(v2.RandomZoomOut):  # type: ignore[misc]
    """Decides, and draws the canvas, from the counters; pads as its parent."""

    draw_op: int

    def forward(self, *inputs: Any) -> Any:
        """The sample; whether it is padded is one of the parameters here, not drawn before them."""
        return v2.Transform.forward(self, *inputs)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The padding; nothing where the sample stays as it is."""
        if number(self.draw_op, 0) >= self.p:
            return {}
        height, width = v2.query_size(flat_inputs)
        low, high = self.side_range
        side = low + number(self.draw_op, 1) * (high - low)
        canvas_width, canvas_height = int(width * side), int(height * side)
        left = int((canvas_width - width) * number(self.draw_op, 2))
        top = int((canvas_height - height) * number(self.draw_op, 3))
        return {"padding": [left, top, canvas_width - width - left, canvas_height - height - top]}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        """One member of the sample, padded or as it was."""
        return super().transform(inpt, params) if params else inpt


class CountedScaleJitter(v2.ScaleJitter):  # type: ignore[misc]
    """Draws the scale from the counters; resizes as its parent."""

    draw_op: int

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The new size."""
        height, width = v2.query_size(flat_inputs)
        low, high = self.scale_range
        scale = low + number(self.draw_op, 0) * (high - low)
        # which edge of the target goes with which edge of the image is torchvision's
        ratio = min(self.target_size[1] / height, self.target_size[0] / width) * scale
        return {"size": (int(height * ratio), int(width * ratio))}


class CountedRandomShortestSize(v2.RandomShortestSize):  # type: ignore[misc]
    """Draws one of the sizes from the counters; resizes as its parent."""

    draw_op: int

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        """The new size."""
        height, width = v2.query_size(flat_inputs)
        ratio = self.min_size[int(number(self.draw_op, 0) * len(self.min_size))] / min(height, width)
        if self.max_size is not None:
            ratio = min(ratio, self.max_size / max(height, width))
        return {"size": (int(height * ratio), int(width * ratio))}


TWINS: dict[str, type] = {
    "RandomShortestSize": CountedRandomShortestSize,
    "RandomZoomOut": CountedRandomZoomOut,
    "ScaleJitter": CountedScaleJitter,
}
