"""The members of samples as tensors: read from what codecs give, given to transforms as `tv_tensors`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from PIL import Image

from headrace.errors import DecodeError
from headrace.recipes.joint.sample_form import Member, SampleForm

NUMBERS_OF_BOX = 4
NUMBERS_OF_POINT = 2
SIDES_OF_MASK = 2


def as_member(value: Any, member: Member) -> torch.Tensor:
    """What a codec read as the tensor that torchvision moves.

    Args:
        value: A tensor, an array, a PIL image, or lists of numbers, which become float32.
        member: What it is.

    Returns:
        A mask of shape (..., H, W), boxes of shape (boxes, 4), points of shape (..., 2).

    Raises:
        DecodeError: It is of another shape, or no numbers at all.
    """
    try:
        tensor = as_tensor(value, member)
    except (TypeError, ValueError, RuntimeError) as error:
        raise unfit(member, type(value).__name__) from error
    if member.kind == "boxes":
        tensor = tensor.reshape(-1, NUMBERS_OF_BOX) if not tensor.numel() or tensor.ndim == 1 else tensor
        fits = tensor.ndim == 2 and tensor.shape[1] == NUMBERS_OF_BOX
    elif member.kind == "keypoints":
        tensor = tensor.reshape(0, NUMBERS_OF_POINT) if not tensor.numel() else tensor
        fits = tensor.ndim >= 1 and tensor.shape[-1] == NUMBERS_OF_POINT
    else:
        fits = tensor.ndim >= SIDES_OF_MASK
    if not fits:
        raise unfit(member, f"shape {tuple(tensor.shape)}")
    return tensor


def as_tensor(value: Any, member: Member) -> torch.Tensor:
    """The numbers; lists of boxes and points as float32, since geometry would round whole numbers."""
    if isinstance(value, torch.Tensor):
        return value.as_subclass(torch.Tensor)
    if isinstance(value, np.ndarray):
        return torch.from_numpy(np.ascontiguousarray(value))
    if isinstance(value, Image.Image):
        return torch.from_numpy(np.array(value))
    return torch.tensor(value) if member.kind == "mask" else torch.tensor(value, dtype=torch.float32)


def unfit(member: Member, got: str) -> DecodeError:
    """The error of a value that is no such member."""
    accepted = {
        "mask": "whole numbers of shape (H, W) or (masks, H, W)",
        "boxes": "numbers of shape (boxes, 4), as lists, an array or a tensor",
        "keypoints": "numbers of shape (points, 2), as lists, an array or a tensor",
    }
    return DecodeError(f"a field of kind {member.kind} holds something else", got=got, accepted=accepted[member.kind])


def blank_member(member: Member, size: tuple[int, int]) -> torch.Tensor:
    """What stands for a member where there is none: an empty mask, no boxes, no points."""
    if member.kind == "mask":
        return torch.zeros(size, dtype=torch.uint8)
    return torch.zeros((0, NUMBERS_OF_BOX if member.kind == "boxes" else NUMBERS_OF_POINT))


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
