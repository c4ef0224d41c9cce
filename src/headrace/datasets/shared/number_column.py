"""Python's ints, floats and bools as one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace.contracts import I64
from headrace.datasets.shared.column import DoesNotFitError
from headrace.datasets.shared.packed import Packed, Piece, Pieces

DTYPES: dict[type, type[np.generic]] = {int: np.int64, float: np.float64, bool: np.bool_}
INTEGERS = (np.int8, np.int16, np.int32, np.int64)


class NumberColumn:
    """Reads Python's numbers.

    Args:
        values: Shape (items,); bool, float64 or signed integers.
    """

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self.layout = values.dtype.name
        self.values = values
        self.view = values.data

    def item(self, row: int) -> Any:
        """One number, as Python has it."""
        return self.view[row]

    def items(self, rows: I64) -> list[Any]:
        """Many numbers, as Python has them."""
        return self.values[rows].tolist()  # type: ignore[no-any-return]


class NumberEncoder:
    """Collects numbers, an array a chunk.

    Args:
        kind: int, float or bool.
    """

    def __init__(self, kind: type) -> None:
        self.dtype = DTYPES[kind]
        self.pieces: list[npt.NDArray[Any]] = []

    def add(self, items: Sequence[Any], first: int) -> None:
        """Packs further numbers; integers beyond 64 bits do not fit."""
        try:
            self.pieces.append(np.fromiter(items, dtype=self.dtype, count=len(items)))
        except OverflowError as error:
            raise DoesNotFitError from error

    def finish(self) -> Packed:
        """All numbers, integers in the smallest type that holds them."""
        dtype = np.dtype(self.dtype) if self.dtype is not np.int64 else self.smallest()
        pieces: list[Piece] = [piece.astype(dtype, copy=False) for piece in self.pieces]
        num = sum(map(len, pieces))
        return Packed(
            schema={"kind": "numbers"}, arrays=[Pieces(dtype=dtype, shape=(num,), buffers=pieces)], num_rows=num
        )

    def smallest(self) -> np.dtype[Any]:
        """The smallest integer type for all pieces."""
        low, high = min(int(piece.min()) for piece in self.pieces), max(int(piece.max()) for piece in self.pieces)
        fitting = (kind for kind in INTEGERS if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
        return np.dtype(next(fitting))
