"""Twins of `torchvision.transforms` (v1) that draw from the sample's counters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torchvision import transforms
from torchvision.transforms import functional

from headrace.recipes.draws_of_sample import crop_box, flips, resized_crop_box
from headrace.recipes.twin import twin_of


class CountedRandomResizedCrop(transforms.RandomResizedCrop):  # type: ignore[misc]
    """Draws the box from the counters; crops and resizes as its parent."""

    draw_op: int

    def get_params(self, img: Any, scale: Sequence[float], ratio: Sequence[float]) -> tuple[int, int, int, int]:
        """Top, left, height and width."""
        _, height, width = functional.get_dimensions(img)
        return resized_crop_box(height, width, scale, ratio, self.draw_op)


class CountedRandomCrop(transforms.RandomCrop):  # type: ignore[misc]
    """Draws the place from the counters; pads and crops as its parent."""

    draw_op: int

    def get_params(self, img: Any, output_size: tuple[int, int]) -> tuple[int, int, int, int]:
        """Top, left, height and width; refuses images that are too small, as the parent does."""
        _, height, width = functional.get_dimensions(img)
        return crop_box(height, width, output_size, self.draw_op)


class CountedRandomHorizontalFlip(transforms.RandomHorizontalFlip):  # type: ignore[misc]
    """Decides from the counters."""

    draw_op: int

    def forward(self, img: Any) -> Any:
        """The image, mirrored or as it was."""
        return functional.hflip(img) if flips(self.p, self.draw_op) else img


TWINS: dict[str, type] = {
    "RandomResizedCrop": CountedRandomResizedCrop,
    "RandomCrop": CountedRandomCrop,
    "RandomHorizontalFlip": CountedRandomHorizontalFlip,
}


def twin_v1(name: str, call: Any, position: int) -> Any:
    """The counted twin of a v1 transform, with all its settings."""
    return twin_of(call, TWINS[name], position)
