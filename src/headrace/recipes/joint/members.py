"""The members of samples, given to transforms as `tv_tensors`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from PIL import Image

from headrace.recipes.joint.sample_form import Member, SampleForm

SIDES_OF_MASK = 2


def wrapped(leaves: Sequence[Any], form: SampleForm) -> list[Any]:
    """The leaves with members as `tv_tensors`, as torchvision's transforms want them.

    Boxes and points of a sample that has neither image nor mask stay tensors: there is no canvas to move them on.
    """
    size = canvas_of(leaves, form)
    wrapped_leaves = list(leaves)
    for place, member in form.members.items():
        if isinstance(leaves[place], torch.Tensor):
            wrapped_leaves[place] = as_tv_tensor(leaves[place], member, size)
    return wrapped_leaves


def canvas_of(leaves: Sequence[Any], form: SampleForm) -> tuple[int, int] | None:
    """Height and width of the first image, else of the first mask."""
    masks = [place for place, member in form.members.items() if member.kind == "mask"]
    sizes = [size_of(leaves[place]) for place in (*form.images, *masks)]
    return next((size for size in sizes if size is not None), None)


def size_of(value: Any) -> tuple[int, int] | None:
    """Height and width of an image or mask, None of anything else."""
    if isinstance(value, Image.Image):
        return value.height, value.width
    if isinstance(value, torch.Tensor) and value.ndim >= SIDES_OF_MASK:
        return int(value.shape[-2]), int(value.shape[-1])
    return None


def as_tv_tensor(tensor: torch.Tensor, member: Member, size: tuple[int, int] | None) -> torch.Tensor:
    """A member of its `tv_tensors` type; the same memory."""
    # torchvision is optional and slow to import; a transform of whole samples is what needs it
    from torchvision import tv_tensors

    if member.kind == "mask":
        return tv_tensors.Mask(tensor)  # type: ignore[no-any-return]
    if size is None:
        return tensor
    if member.kind == "boxes":
        return tv_tensors.BoundingBoxes(  # type: ignore[no-any-return]
            tensor, format=member.format, canvas_size=size, clamping_mode=member.clamping
        )
    return tv_tensors.KeyPoints(tensor, canvas_size=size)  # type: ignore[no-any-return]
