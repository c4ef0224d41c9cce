"""Between numpy leases, PIL images and torch tensors. A tensor made here keeps the array under it alive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from headrace.contracts import U8, Allocate
from headrace.recipes.pointwise import Form


def as_tensor(raw: npt.NDArray[Any], dtype: torch.dtype, *, channels_last: bool) -> torch.Tensor:
    """A tensor over the memory of an array, without a copy.

    Args:
        raw: Elements of the size of `dtype`, their bits as they are: (..., H, W, C) where `channels_last`, else
            (..., C, H, W).
        dtype: What the bits mean.
        channels_last: Whether channels are innermost.

    Returns:
        Shape (..., C, H, W). It, its views and its storage keep `raw` alive, and with it a lease.
    """
    signed = raw.view(f"i{raw.dtype.itemsize}") if raw.dtype.kind == "u" and raw.dtype.itemsize > 1 else raw
    tensor = torch.from_numpy(signed)
    tensor = tensor if tensor.dtype is dtype else tensor.view(dtype)
    return tensor.movedim(-1, -3) if channels_last else tensor


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Memory that a batch is written into."""

    raw: npt.NDArray[Any]
    """What the kernel writes: unsigned integers of the element's size, C-contiguous, (N, H, W, C) or (N, C, H, W)."""
    tensor: torch.Tensor
    """The same memory as users see it, shape (N, C, H, W)."""
    channels_last: bool
    """Whether channels are innermost in memory."""


def allocate_target(allocate: Allocate, shape: Sequence[int], dtype: torch.dtype, *, channels_last: bool) -> Target:
    """Leases memory for a tensor.

    Args:
        allocate: Where the memory comes from.
        shape: Of the tensor; with `channels_last` its last three axes are C, H, W.
        dtype: Of the tensor.
        channels_last: Whether channels are to be innermost in memory.
    """
    stored = [*shape[:-3], *shape[-2:], shape[-3]] if channels_last else list(shape)
    raw = allocate(stored, np.dtype(f"u{dtype.itemsize}"))
    return Target(raw=raw, tensor=as_tensor(raw, dtype, channels_last=channels_last), channels_last=channels_last)


def pil_to_tensor(image: Image.Image) -> torch.Tensor:
    """The pixels as ToImage gives them: uint8 of shape (C, H, W), channels innermost in memory."""
    return torch.from_numpy(pil_pixels(image)).permute(2, 0, 1)


def pil_pixels(image: Image.Image) -> U8:
    """The pixels of an image of 8-bit channels: shape (H, W, C), writable."""
    pixels = np.array(image, dtype=np.uint8)
    return pixels[:, :, None] if pixels.ndim == 2 else pixels


def delivered(value: Any) -> Any:
    """What a loader gives of what the transforms gave.

    A PIL image becomes what ToImage would make it, a `tv_tensors.Image` the pure tensor that collating makes of it;
    anything else stays.
    """
    if isinstance(value, Image.Image):
        return pil_to_tensor(value)
    return value.as_subclass(torch.Tensor) if isinstance(value, torch.Tensor) else value


def image_of(pixels: U8, form: Form) -> Any:
    """Pixels of shape (H, W, 3) as a PIL image, a `tv_tensors.Image` or a pure tensor."""
    if form == "pil":
        return Image.fromarray(pixels)
    return tensor_of(torch.from_numpy(pixels).permute(2, 0, 1), form)


def tensor_of(tensor: torch.Tensor, form: Form) -> torch.Tensor:
    """A pure tensor, as a `tv_tensors.Image` over the same memory where that is the form."""
    if form == "tensor":
        return tensor
    # only reached where the user's own transform made torchvision a need
    from torchvision import tv_tensors

    return tv_tensors.Image(tensor)  # type: ignore[no-any-return]
