"""Tensors of different sizes become one: filled up at their ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headrace.contracts import Allocate
from headrace.datasets.stacking import empty_tensor
from headrace.errors import CollateError, OptionError

BITS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
"""Bytes of a number -> a dtype of that size that numpy has too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pad:
    """How tensors of different sizes are brought to one, as a rule for `collate=`.

    Every dimension grows to the largest of the batch: token ids of shape (length,) become (rows, longest), images of
    (C, H, W) become (rows, C, tallest, widest).

    Raises:
        OptionError: A number that is not accepted.
    """

    value: float = 0
    """What is filled in."""
    multiple_of: int = 1
    """The first dimension grows to a multiple of this: tensor cores and compiled models like few, even lengths."""
    max_length: int | None = None
    """The first dimension is cut to this length before it is rounded up to a multiple."""
    lengths: bool = False
    """Whether the field becomes (padded, lengths): int64, shape (rows,), of the first dimension, after the cut."""

    def __post_init__(self) -> None:
        for name, number in (("multiple_of", self.multiple_of), ("max_length", self.max_length)):
            none = name == "max_length" and number is None
            if not none and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
                raise OptionError(f"Pad does not accept this {name}", got=repr(number), accepted="an integer from 1")


def pad(values: Sequence[Any], rule: Pad, allocate: Allocate) -> Any:
    """One tensor of shape (rows, ...) over leased memory, with lengths where the rule asks for them.

    Args:
        values: Tensors, arrays, or sequences of numbers, one a row, of equal dtype and number of dimensions.
        rule: How.
        allocate: Where the memory comes from.

    Raises:
        CollateError: Values that are no tensors, or whose dtypes or numbers of dimensions differ.
    """
    tensors = as_tensors(values)
    if rule.max_length is not None:
        tensors = [tensor[: rule.max_length] if tensor.ndim else tensor for tensor in tensors]
    kinds = {(tensor.dtype, tensor.ndim) for tensor in tensors}
    first = (tensors[0].dtype, tensors[0].ndim)
    if len(kinds) > 1 or tensors[0].ndim == 0:
        raise CollateError(
            "the values of a batch cannot be padded to one tensor",
            row=next((row for row, one in enumerate(tensors) if (one.dtype, one.ndim) != first), None),
            got=", ".join(f"{dtype} of {ndim} dimensions" for dtype, ndim in kinds),
            accepted="equal dtypes and numbers of dimensions, one at least",
        )
    sizes = [max(size) for size in zip(*(tensor.shape for tensor in tensors), strict=True)]
    sizes[0] += -sizes[0] % rule.multiple_of
    padded = empty_tensor((len(tensors), *sizes), tensors[0].dtype, allocate).fill_(rule.value)
    if not (len(sizes) == 1 and fill_at_once(padded, tensors)):
        fill_row_by_row(padded, tensors)
    if not rule.lengths:
        return padded
    return padded, torch.tensor([len(tensor) for tensor in tensors])


def fill_row_by_row(padded: torch.Tensor, tensors: Sequence[torch.Tensor]) -> None:
    """Writes each tensor to the beginning of its row: the reference, for tensors of any kind.

    Args:
        padded: Shape (rows, ...), at least as large in each dimension as each of the tensors.
        tensors: One a row.
    """
    for row, tensor in zip(padded, tensors, strict=True):
        row[tuple(map(slice, tensor.shape))] = tensor


def fill_at_once(padded: torch.Tensor, tensors: Sequence[torch.Tensor]) -> bool:
    """The same for tensors of one dimension, in a fifth of the time: all of them in one piece, then to their places.

    Args:
        padded: Shape (rows, longest), in memory of its own.
        tensors: One a row, of its dtype.

    Returns:
        Whether it was done: not for tensors of other devices or layouts, of autograd, or of subclasses.
    """
    flat = torch.cat(list(tensors))
    bits = BITS.get(flat.element_size())
    is_plain = type(flat) is torch.Tensor and flat.is_cpu and flat.layout is torch.strided and not flat.requires_grad
    if bits is None or not is_plain:
        return False
    lengths = np.array([tensor.shape[0] for tensor in tensors])
    taken = np.arange(padded.shape[1]) < lengths[:, None]
    padded.view(bits).numpy()[taken] = flat.view(bits).numpy()
    return True


def as_tensors(values: Sequence[Any]) -> list[torch.Tensor]:
    """Tensors, arrays and sequences of numbers as tensors.

    Raises:
        CollateError: A value that no tensor can hold.
    """
    tensors: list[torch.Tensor] = []
    try:
        for value in values:
            tensors.append(value if isinstance(value, torch.Tensor) else torch.as_tensor(value))  # noqa: PERF401 - how many went well names the row
    except (TypeError, ValueError, RuntimeError) as error:
        raise CollateError(
            "the values of a batch are no tensors, and cannot be padded",
            row=len(tensors),
            got=", ".join(sorted({type(value).__name__ for value in values})),
            accepted="tensors, arrays, sequences of numbers",
        ) from error
    return tensors
