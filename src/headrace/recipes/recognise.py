"""torchvision's geometric transforms read into geometry, or the reason why the kernel does not know them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from headrace.recipes.geometry import (
    CenterCrop,
    Flip,
    GeometryStep,
    RandomCrop,
    RandomIoUCrop,
    RandomResizedCrop,
    Resize,
)
from headrace.recipes.op import Op

FILTERS = {0: "nearest", 2: "bilinear", 3: "bicubic"}
"""Filters of the kernel, by the numbers of `PIL.Image.Resampling`."""
BILINEAR = 2

Pixels: TypeAlias = Literal["pil", "uint8", "other"]
"""What an op works on: a PIL image, a uint8 tensor with the image's own values, or a tensor of other values."""


def recognise_geometry(name: str, op: Op, pixels: Pixels, *, exact: bool) -> GeometryStep | str | None:
    """Reads a torchvision transform as a step of geometry.

    Args:
        name: Name of its class.
        op: The transform and its position.
        pixels: What it works on at its place in the recipe.
        exact: Whether resampling of tensors, which may differ from Pillow by one level, is left to torchvision.

    Returns:
        The step, the reason why the kernel cannot do this one, or None where it is no geometry.
    """
    read = READERS.get(name)
    if read is None:
        return None
    step = read(op)
    if isinstance(step, (Resize, RandomResizedCrop)):
        return resampling_refusal(op.call, step.filter, pixels, exact=exact) or step
    return step


def resampling_refusal(call: Any, number: int, pixels: Pixels, *, exact: bool) -> str | None:
    """Why this resampling would give other pixels than torchvision, None where it gives the same (see `exact`)."""
    if number not in FILTERS:
        return "of the filters, nearest, bilinear and bicubic are fused"
    if pixels == "pil":
        return None
    if pixels == "other":
        return "resamples values that are no longer the 8-bit pixels"
    if number != BILINEAR:
        return f"{FILTERS[number]} of tensors is another algorithm than of PIL images; put it before ToImage to fuse it"
    if call.antialias is not True:
        return "resampling of tensors without antialias is not fused; put it before ToImage"
    return "fuse='exact' leaves the resampling of tensors to torchvision; put it before ToImage" if exact else None


def read_random_resized_crop(op: Op) -> GeometryStep | str:
    """Bounds must be in order: torchvision raises for others when it draws."""
    call = op.call
    scale, ratio = pair(call.scale), pair(call.ratio)
    if not 0 < scale[0] <= scale[1] or not 0 < ratio[0] <= ratio[1]:
        return "scale and ratio must be positive and of the form (min, max)"
    height, width = size_of(call.size)
    return RandomResizedCrop(
        height=height, width=width, scale=scale, ratio=ratio, filter=filter_number(call.interpolation), op=op.position
    )


def read_resize(op: Op) -> GeometryStep | str:
    """Shorter edge, with or without a cap, or exact height and width."""
    call = op.call
    sizes = [call.size] if isinstance(call.size, int) else call.size
    if sizes is None:
        return "size=None (the longer edge) is not fused"
    number, cap = filter_number(call.interpolation), call.max_size or 0
    if len(sizes) == 1:
        if call.max_size is not None and cap <= sizes[0]:
            return "max_size must be greater than size"
        return Resize(height=int(sizes[0]), width=0, max_size=int(cap), filter=number)
    if call.max_size is not None:
        return "max_size goes with one size only"
    return Resize(height=int(sizes[0]), width=int(sizes[1]), filter=number)


def read_center_crop(op: Op) -> GeometryStep | str:
    """Images that are smaller are padded, which the kernel leaves to torchvision."""
    height, width = size_of(op.call.size)
    return CenterCrop(height=height, width=width)


def read_random_crop(op: Op) -> GeometryStep | str:
    """Only without padding."""
    if op.call.padding is not None or op.call.pad_if_needed:
        return "crops that pad are not fused"
    height, width = size_of(op.call.size)
    return RandomCrop(height=height, width=width, op=op.position)


def iou_crop_rules(call: Any, position: int) -> RandomIoUCrop:
    """The settings of a RandomIoUCrop."""
    return RandomIoUCrop(
        scale=(float(call.min_scale), float(call.max_scale)),
        ratio=(float(call.min_aspect_ratio), float(call.max_aspect_ratio)),
        options=tuple(float(option) for option in call.options),
        trials=int(call.trials),
        op=position,
    )


def read_random_iou_crop(op: Op) -> GeometryStep | str:
    """Settings with which torchvision never leaves the image."""
    step = iou_crop_rules(op.call, op.position)
    if not 0 <= step.scale[0] <= step.scale[1] <= 1:
        return "min_scale and max_scale must rise within 0 and 1"
    return step if step.options else "sampler_options must not be empty"


def read_flip(op: Op) -> GeometryStep | str:
    """Probability and place."""
    return Flip(probability=float(op.call.p), op=op.position)


READERS: dict[str, Callable[[Op], GeometryStep | str]] = {
    "CenterCrop": read_center_crop,
    "RandomCrop": read_random_crop,
    "RandomHorizontalFlip": read_flip,
    "RandomIoUCrop": read_random_iou_crop,
    "RandomResizedCrop": read_random_resized_crop,
    "Resize": read_resize,
}


def size_of(size: Sequence[int]) -> tuple[int, int]:
    """(height, width) as torchvision's `_setup_size` leaves it."""
    return int(size[0]), int(size[1] if len(size) > 1 else size[0])


def pair(values: Sequence[float]) -> tuple[float, float]:
    """Two numbers as floats."""
    return float(values[0]), float(values[1])


def filter_number(interpolation: Any) -> int:
    """The number Pillow has for torchvision's interpolation, given as its enum, its text or already as the number."""
    if isinstance(interpolation, int):
        return int(interpolation)
    functional = sys.modules["torchvision.transforms.functional"]
    return int(functional.pil_modes_mapping[functional.InterpolationMode(interpolation)])
