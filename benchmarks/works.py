"""The work that all loaders do, written with torchvision as a careful user would."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from PIL import Image
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms import v2

BATCH_SIZE = 64
NUM_WORKERS = 2
NUM_FIRST_BATCHES = 16
"""Batches after which a loader and the kernel have touched all memory that they use again and again."""
SIDE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """One kind of work."""

    title: str
    geometry: Sequence[v2.Transform]
    """What follows decoding; ends in uint8."""
    values: Sequence[v2.Transform] = ()
    """What follows the conversion to a tensor."""
    dtype: torch.dtype = torch.uint8


WORKS: Mapping[str, Work] = {
    "crop": Work(
        title="RandomResizedCrop(224), flip",
        geometry=(v2.RandomResizedCrop(SIDE, antialias=True), v2.RandomHorizontalFlip()),
    ),
    "center": Work(
        title="Resize(256), CenterCrop(224)",
        geometry=(v2.Resize(256, antialias=True), v2.CenterCrop(SIDE)),
    ),
    "augment": Work(
        title="RandomResizedCrop(224), flip, RandAugment, ColorJitter, Normalize",
        geometry=(
            v2.RandomResizedCrop(SIDE, antialias=True),
            v2.RandomHorizontalFlip(),
            v2.RandAugment(),
            v2.ColorJitter(0.4, 0.4, 0.4),
        ),
        values=(v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)),
        dtype=torch.float32,
    ),
}


def pillow_transform(work: str) -> Callable[[Any], torch.Tensor]:
    """From a PIL image to a tensor (3, 224, 224)."""
    transform: Callable[[Any], torch.Tensor] = v2.Compose(
        [*WORKS[work].geometry, v2.PILToTensor(), *WORKS[work].values]
    )
    return transform


def from_bytes(work: str, backend: str) -> Callable[[bytes], torch.Tensor]:
    """From the bytes of a JPEG to a tensor (3, 224, 224), with "pillow" or "torchvision.io"."""
    if backend == "pillow":
        transform = pillow_transform(work)
        return lambda data: transform(Image.open(io.BytesIO(data)).convert("RGB"))
    transform = v2.Compose([*WORKS[work].geometry, *WORKS[work].values])
    return lambda data: transform(
        decode_jpeg(torch.frombuffer(bytearray(data), dtype=torch.uint8), mode=ImageReadMode.RGB)
    )
