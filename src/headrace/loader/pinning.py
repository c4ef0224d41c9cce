"""Batches in page-locked memory, from torch's own allocator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch


def pin(batch: Any) -> Any:
    """The batch with its tensors in page-locked memory; other values as they are.

    torch's allocator tracks the copies that the user starts from such memory, so a batch is never overwritten while one
    is under way. Where there is no accelerator the batch is returned as it is, as torch does.
    """
    return _pin(batch) if torch.cuda.is_available() else batch


def _pin(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.pin_memory()
    if hasattr(value, "pin_memory"):
        return value.pin_memory()
    if isinstance(value, Mapping):
        return {name: _pin(one) for name, one in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_pin, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_pin, value))
    return value
