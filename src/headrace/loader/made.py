"""A batch that is made, and what batches weigh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np

from headrace.contracts import Allocate, Bools, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """A batch ready to be handed over."""

    batch: Any
    valid: Bools


class BatchSizes:
    """What a step weighs: the largest row seen, and nothing before the first one."""

    def __init__(self) -> None:
        self.row_bytes: int | None = None

    def estimate(self, step: Step) -> int | None:
        """Bytes of a step; None before one was made."""
        return None if self.row_bytes is None else self.row_bytes * len(step.ids)

    def saw(self, size_bytes: int, num_rows: int) -> None:
        """Learns from a step that was made; a race between two workers only loses one observation."""
        self.row_bytes = max(self.row_bytes or 0, -(-size_bytes // max(1, num_rows)))


class Metered:
    """An allocator that remembers how much a step took."""

    def __init__(self, allocate: Allocate) -> None:
        self.allocate = allocate
        self.size_bytes = 0

    def __call__(self, shape: Sequence[int], dtype: Any) -> np.ndarray[Any, Any]:
        """Allocates as the wrapped allocator does."""
        array = self.allocate(shape, dtype)
        self.size_bytes += array.nbytes
        return array


NUMBER_BYTES = 8
"""What a number in a list takes at least."""
LONG_LIST = 16


def is_of_numbers(values: Sequence[Any]) -> bool:
    """Whether this is a long list of numbers, as far as its ends tell: nobody has time to ask each of them."""
    return len(values) > LONG_LIST and isinstance(values[0], (int, float)) and isinstance(values[-1], (int, float))


def tensor_bytes(batch: Any) -> int:
    """Bytes of the tensors, arrays, bytes and texts in a batch, as far as they can tell: sparse tensors cannot."""
    if isinstance(batch, (bytes, str)):
        return len(batch)
    if isinstance(batch, Mapping):
        return sum(map(tensor_bytes, batch.values()))
    if isinstance(batch, (list, tuple)):
        return NUMBER_BYTES * len(batch) if is_of_numbers(batch) else sum(map(tensor_bytes, batch))
    if is_dataclass(batch) and not isinstance(batch, type):
        return sum(tensor_bytes(getattr(batch, field.name, None)) for field in fields(batch))
    try:
        return int(batch.nbytes)
    except Exception:  # noqa: BLE001 - no attribute, or one of another meaning: a batch may be an object of any class
        return 0
