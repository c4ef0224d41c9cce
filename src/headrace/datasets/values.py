"""The values of a leaf over the rows of a batch, and the bytes that they come from."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.contracts import ByteColumn

Values: TypeAlias = Sequence[Any] | npt.NDArray[Any]
"""One value a row."""


def python_values(values: Values) -> Sequence[Any]:
    """Python numbers rather than numpy's: a user's function gets what the dataset would have given it."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def row_bytes(column: ByteColumn) -> Iterator[bytes | None]:
    """The bytes of each row, None where the sample lacks the field."""
    absent = set(column.absent.tolist())
    for row, (address, size) in enumerate(zip(column.addresses.tolist(), column.sizes.tolist(), strict=True)):
        yield None if row in absent else ctypes.string_at(address, size)
