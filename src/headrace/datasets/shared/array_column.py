"""Arrays of equal shape and type as one array, and the scalars of numpy likewise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.contracts import I64
from headrace.datasets.shared.packed import Packed, Piece, Pieces

LARGE_BYTES = 1 << 16
"""Arrays of this size and more are packed from where they are, smaller ones are put together by the chunk."""


class ArrayColumn:
    """Reads arrays as views, without copying.

    Whoever writes into one changes it in his own process, as with an array from a list. The memory of the block is
    not changed: `values` is a copy-on-write mapping.

    Args:
        values: Shape (items, *shape).
        scalar: Whether the items are scalars of numpy; `values` has shape (items,) then.
    """

    def __init__(self, values: npt.NDArray[Any], *, scalar: bool) -> None:
        name = values.dtype.name
        self.layout = f"numpy.{name}" if scalar else f"{name}{list(values.shape[1:])}"
        self.values = values
        self.scalar = scalar

    def item(self, row: int) -> Any:
        """One array or scalar."""
        return self.values[row] if self.scalar else self.values[row, ...]  # the dots keep an array of no axes an array

    def items(self, rows: I64) -> list[Any]:
        """Many arrays or scalars."""
        return [self.item(row) for row in rows.tolist()]


class ArrayEncoder:
    """Collects arrays.

    Args:
        dtype: Short name of their type.
        shape: Their shape; None for scalars.
    """

    def __init__(self, dtype: str, shape: tuple[int, ...] | None) -> None:
        self.dtype = np.dtype(dtype)
        self.shape = shape
        self.pieces: list[Piece] = []
        self.num = 0

    def add(self, items: Sequence[Any], first: int) -> None:
        """Packs further arrays."""
        self.num += len(items)
        if items[0].nbytes >= LARGE_BYTES:
            self.pieces += [np.ascontiguousarray(item) for item in items]
        else:
            self.pieces.append(np.array(items, dtype=self.dtype))

    def finish(self) -> Packed:
        """All arrays."""
        whole = Pieces(dtype=self.dtype, shape=(self.num, *(self.shape or ())), buffers=self.pieces)
        return Packed(schema={"kind": "array", "scalar": self.shape is None}, arrays=[whole], num_rows=self.num)
