"""Tensors on their way between processes: their memory as a buffer beside the pickle, instead of a copy inside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch


def reduce_tensor(tensor: torch.Tensor) -> Any:
    """How to pickle a tensor, as `__reduce_ex__` tells it; `NotImplemented` where torch's own way is the right one.

    That is so for tensors that are no plain memory of this process (other devices, sparse or quantised ones), that
    take part in autograd, and for classes which say themselves how they are pickled.
    """
    kind = type(tensor)
    own_way = kind.__reduce_ex__ is not torch.Tensor.__reduce_ex__ or tensor.requires_grad
    if own_way or tensor.device.type != "cpu" or tensor.layout != torch.strided or not is_plain(tensor):
        return NotImplemented
    if kind is not torch.Tensor:
        return rebuild_subclass, (tensor.as_subclass(torch.Tensor), kind, dict(vars(tensor)))
    packed = tensor if is_dense(tensor) else tensor.contiguous()
    return rebuild_tensor, (memory_of(packed), tensor.dtype, tuple(packed.shape), packed.stride())


def is_plain(tensor: torch.Tensor) -> bool:
    """Whether the values are what lies in memory."""
    return not (tensor.is_quantized or tensor.is_conj() or tensor.is_neg())


def is_dense(tensor: torch.Tensor) -> bool:
    """Whether its elements lie side by side, in whatever order of dimensions."""
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def memory_of(tensor: torch.Tensor) -> Any:
    """The bytes of a dense tensor as an array that looks at them, shape (bytes,), dtype uint8."""
    if tensor.numel() == 0:
        return np.empty(0, dtype=np.uint8)
    flat = tensor.as_strided((tensor.numel(),), (1,), tensor.storage_offset())
    return flat.view(torch.uint8).numpy()


def rebuild_tensor(memory: Any, dtype: torch.dtype, shape: tuple[int, ...], stride: tuple[int, ...]) -> torch.Tensor:
    """A tensor over memory that arrived; keeps that memory."""
    if len(memory) == 0:
        return torch.empty_strided(shape, stride, dtype=dtype)
    return torch.frombuffer(memory, dtype=dtype).as_strided(shape, stride)


def rebuild_subclass(tensor: torch.Tensor, kind: type[torch.Tensor], state: dict[str, Any]) -> torch.Tensor:
    """The tensor as one of its subclass, with the attributes that it had."""
    made = tensor.as_subclass(kind)
    vars(made).update(state)
    return made
