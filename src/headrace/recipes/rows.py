"""What becomes of one image field of one batch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from headrace.contracts import I32, Fault


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """The images of a batch."""

    values: torch.Tensor | list[Any]
    """Shape (rows, C, H, W) over leased memory; a list with one entry a row where the images cannot be one tensor
    (None at faulty rows)."""
    faults: tuple[Fault, ...] = ()
    """Rows that could not be made; a tensor holds zeros there."""
    params: I32 | None = None
    """Geometry of each row as the kernel reports it (`BatchReport.params`), shape (rows, 8); zeros where torchvision
    did the row. None where nothing was fused."""


@dataclass(frozen=True, slots=True)
class Settled:
    """An image that has gone through the suffix before the rest of its batch."""

    value: Any
