"""Geometry that the kernel knows, as data: at most one resize, then one crop, then one flip, in one pass."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from headrace.recipes.draws import resized_sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Resize:
    """A resize of the whole image."""

    height: int
    """Target height, or the target of the shorter edge where `width` is 0."""
    width: int
    max_size: int = 0
    """Cap of the longer edge where the shorter is given; 0 is none."""
    filter: int
    """Number of the filter as `PIL.Image.Resampling` has it."""

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the result for an image of this size."""
        heights, widths = resized_sizes(
            np.array([height]), np.array([width]), self.height, self.width, max_size=self.max_size
        )
        return int(heights[0]), int(widths[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomResizedCrop:
    """A random box of random area and aspect ratio, resized to (height, width)."""

    height: int
    width: int
    scale: tuple[float, float]
    """Bounds of the box's share of the image area."""
    ratio: tuple[float, float]
    """Bounds of width over height."""
    filter: int
    op: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomIoUCrop:
    """A random crop that overlaps one of the boxes of the sample enough, or none; of another size in each sample."""

    scale: tuple[float, float]
    """Bounds of the share of each edge."""
    ratio: tuple[float, float]
    """Bounds of width over height."""
    options: tuple[float, ...]
    """Least overlaps, one of which is drawn; from 1 on the sample stays as it is."""
    trials: int
    """Tries before another option is drawn."""
    op: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CenterCrop:
    """The middle (height, width) of the image."""

    height: int
    width: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RandomCrop:
    """A (height, width) of the image at a random place."""

    height: int
    width: int
    op: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Flip:
    """A mirror image, left for right, with this probability."""

    probability: float
    op: int


Crop: TypeAlias = RandomResizedCrop | RandomIoUCrop | CenterCrop | RandomCrop
GeometryStep: TypeAlias = Resize | Crop | Flip


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """What one pass of the kernel does to the place of pixels. All None: nothing."""

    resize: Resize | None = None
    crop: Crop | None = None
    flip: Flip | None = None
    flip_first: bool = False
    """Whether the flip comes before a resize."""

    @property
    def needs_boxes(self) -> bool:
        """Whether crops depend on the boxes of the sample; then they come before any resize."""
        return isinstance(self.crop, RandomIoUCrop)

    @property
    def is_empty(self) -> bool:
        """Whether pixels stay where they are."""
        return self == Geometry()

    @property
    def fixed_size(self) -> tuple[int, int] | None:
        """Height and width of every result, where these do not depend on the image."""
        if self.crop is not None and not isinstance(self.crop, RandomIoUCrop):
            return self.crop.height, self.crop.width
        if self.resize is not None and self.resize.width:
            return self.resize.height, self.resize.width
        return None

    def output_size(self, height: int, width: int) -> tuple[int, int]:
        """Height and width of the result for an image of this size, or for its crop where `needs_boxes`."""
        fixed = self.fixed_size
        if fixed is not None:
            return fixed
        return (height, width) if self.resize is None else self.resize.output_size(height, width)

    def then(self, step: GeometryStep) -> Geometry | str:
        """This geometry followed by one more step, or why that is not one pass."""
        if isinstance(step, Flip):
            return "a second flip" if self.flip else replace(self, flip=step)
        if isinstance(step, Resize) and self.needs_boxes:
            return self.then_resize(step)
        refusal = self.refusal_of(step)
        if refusal is not None:
            return refusal
        return replace(self, resize=step) if isinstance(step, Resize) else replace(self, crop=step)

    def refusal_of(self, step: Resize | Crop) -> str | None:
        """Why this geometry, followed by a resize or crop, is not one pass."""
        if self.flip:
            return "comes after a flip; crops and resizes are fused before it"
        if isinstance(step, Resize):
            return None if self.is_empty else "resizes what was resized or cropped before"
        if self.crop:
            return "a second crop"
        if self.resize and isinstance(step, RandomResizedCrop):
            return "resizes what was resized before"
        return "crops by boxes what was resized before" if self.resize and isinstance(step, RandomIoUCrop) else None

    def then_resize(self, step: Resize) -> Geometry | str:
        """This geometry, which begins with a crop by boxes, followed by a resize, or why that is not one pass."""
        if self.resize:
            return "resizes what was resized before"
        if not step.width:
            return "resizes crops of many sizes by their shorter edge"
        return replace(self, resize=step, flip_first=self.flip is not None)
