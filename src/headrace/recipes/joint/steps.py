"""What transforms do to masks, boxes and points, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import torch

from headrace.recipes.geometry import GeometryStep


@dataclass(frozen=True, slots=True, kw_only=True)
class Convert:
    """Boxes change their format."""

    format: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SetClamping:
    """Whether later steps clamp boxes to the canvas: None is no."""

    mode: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClampBoxes:
    """Boxes are cut off at the edges of the canvas."""

    mode: str | None
    """`auto` does what `SetClamping` said last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClampPoints:
    """Points outside of the canvas go to its nearest pixel."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sanitize:
    """Boxes that are too small or not inside of the canvas go, and with them the entries of the label leaves."""

    min_size: float
    min_area: float
    labels: tuple[int, ...]
    """Places of the leaves with one entry a box."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Retype:
    """New types of values; None leaves them."""

    mask: torch.dtype | None = None
    boxes: torch.dtype | None = None
    keypoints: torch.dtype | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToPure:
    """What was a `tv_tensors` type becomes a pure tensor."""


MemberStep: TypeAlias = GeometryStep | Convert | SetClamping | ClampBoxes | ClampPoints | Sanitize | Retype | ToPure
