"""What conversions and pointwise ops do to each channel value, found by running them on all 256 values.

The kernel then only looks values up, so that fusing them is exactly equal by construction, whatever the op computes
and in whatever type.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from PIL import Image

from headrace.recipes.op import Op

POINTWISE_NAMES = frozenset(
    {
        "ConvertImageDtype",
        "Identity",
        "Normalize",
        "PILToTensor",
        "RGB",
        "ToDtype",
        "ToImage",
        "ToPureTensor",
        "ToTensor",
    }
)
"""torchvision classes that map each channel value by itself (`RGB` leaves an RGB image as it is)."""

Form: TypeAlias = Literal["pil", "image", "tensor"]
"""What an image is at a place between ops: a PIL image, a `tv_tensors.Image`, or a pure tensor."""

RAW_TYPES: dict[int, npt.DTypeLike] = {1: np.uint8, 2: np.uint16, 4: np.uint32}
"""Unsigned integers that carry the bits of any torch type of this many bytes."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Table:
    """The map of channel values, and what kind of tensor it leads to."""

    values: npt.NDArray[Any]
    """Shape (3, 256): the new value of each channel value, its bits held in an unsigned integer."""
    dtype: torch.dtype
    """Type of the new values."""
    channels_last: bool
    """Whether torchvision's tensor for one image has its channels innermost in memory."""

    @property
    def is_identity(self) -> bool:
        """Whether it changes nothing."""
        ramp = np.broadcast_to(np.arange(256), (3, 256))
        return self.dtype is torch.uint8 and bool(np.array_equal(self.values, ramp))


def ramp(form: Form) -> Any:
    """An RGB image of 256 x 1 pixels whose pixel x has the value x in each channel."""
    pixels = np.repeat(np.arange(256, dtype=np.uint8)[None, :, None], 3, axis=2)
    if form == "pil":
        return Image.fromarray(pixels)
    planes = torch.from_numpy(pixels).permute(2, 0, 1)
    if form == "tensor":
        return planes
    # only reached where the user's own transform made torchvision a need
    from torchvision import tv_tensors

    return tv_tensors.Image(planes)


def advance(value: Any, op: Op, *, alone: bool = True) -> tuple[Any, str | None]:
    """Runs a pointwise op on the ramp as it is so far.

    Args:
        value: The ramp.
        op: The op.
        alone: Whether nothing is known of what else the sample holds.

    Returns:
        The new ramp and None, or the old one and the reason why the kernel cannot do what the op does.
    """
    if alone and isinstance(getattr(op.call, "dtype", None), dict):
        return value, "a table of types concerns more than the image"
    try:
        after = op.call(value.clone() if isinstance(value, torch.Tensor) else value)
    except Exception as error:  # noqa: BLE001 - whatever torchvision raises here, it would raise for every image
        return value, f"refused by torchvision at this place: {error}"
    if isinstance(after, Image.Image):
        return after, None
    if not isinstance(after, torch.Tensor) or after.shape != (3, 1, 256):
        return value, "does not give three channels for three channels"
    if after.element_size() not in RAW_TYPES:
        return value, f"gives {after.dtype}; 1-, 2- and 4-byte types are fused"
    return after, None


def table_of(value: Any) -> Table | None:
    """The map that the ramp has gone through; None while it is a PIL image."""
    if isinstance(value, Image.Image):
        return None
    pure = value.as_subclass(torch.Tensor)
    bits = pure.contiguous().view(torch.uint8).numpy().view(RAW_TYPES[pure.element_size()])
    return Table(values=np.ascontiguousarray(bits.reshape(3, 256)), dtype=pure.dtype, channels_last=pure.stride(0) == 1)


def form_of(value: Any) -> Form:
    """What kind of image a value is."""
    if isinstance(value, Image.Image):
        return "pil"
    return "tensor" if type(value) is torch.Tensor else "image"
