"""What columns and blocks exchange: arrays in pieces, and a description that says how to read them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Schema: TypeAlias = Mapping[str, Any]
"""Kind of a column with what it needs beside its arrays; goes through JSON unchanged."""


Piece: TypeAlias = bytes | npt.NDArray[Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pieces:
    """One array whose content lies in several pieces, in order."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    buffers: list[Piece]
    """Contiguous; together as many bytes as the array."""

    @classmethod
    def of(cls, array: npt.NDArray[Any]) -> Pieces:
        """A whole array as its only piece."""
        return cls(dtype=array.dtype, shape=array.shape, buffers=[np.ascontiguousarray(array)])

    @property
    def size_bytes(self) -> int:
        """Size of the array."""
        return prod(self.shape) * self.dtype.itemsize

    def flat(self) -> Iterator[memoryview]:
        """The bytes, piece by piece."""
        for buffer in self.buffers:
            yield flat_view(buffer)

    def drained(self) -> Iterator[memoryview]:
        """The same, but each piece is let go of once the next one is asked for: afterwards there is nothing left."""
        self.buffers.reverse()
        while self.buffers:
            yield flat_view(self.buffers.pop())

    def joined(self) -> npt.NDArray[Any]:
        """The array in one piece, in fresh memory."""
        whole = np.empty(self.size_bytes, dtype=np.uint8)
        done = 0
        for view in self.flat():
            whole[done : done + view.nbytes] = view
            done += view.nbytes
        return whole.view(self.dtype).reshape(self.shape)


def flat_view(buffer: Piece) -> memoryview:
    """The bytes of a contiguous piece."""
    return memoryview(buffer) if isinstance(buffer, bytes) else buffer.reshape(-1).view(np.uint8).data


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """A column in memory of this process, before it lies in a block."""

    schema: Schema
    arrays: Sequence[Pieces]
    num_rows: int


class Arrays(Protocol):
    """The arrays of a column, handed out one after another in the order in which they were packed."""

    def take(self) -> npt.NDArray[Any]:
        """The next array. Not to be written to."""

    def take_private(self) -> npt.NDArray[Any]:
        """The next array, for hands that write: nobody else sees what they write."""


class JoinedArrays:
    """The arrays of a packed column that is read where it was made."""

    def __init__(self, packed: Packed) -> None:
        self.following = iter(packed.arrays)

    def take(self) -> npt.NDArray[Any]:
        """The next array."""
        return next(self.following).joined()

    take_private = take
