"""The columns of a shard index: where every member of a shard lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace import _native
from headrace.contracts import I32, I64, U8, U64, Bools
from headrace.errors import IndexFormatError, ShardChangedError
from headrace.shards.faults import text_of

U32: TypeAlias = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexTable:
    """Members sorted by sample; samples in the order in which the shard names them first."""

    sample_starts: U32
    """First member of each sample and, at the end, the number of members, shape (samples + 1,)."""
    offsets: U64
    """First byte of each member's data in the shard, shape (members,)."""
    sizes: U64
    """Bytes of each member's data, shape (members,)."""
    field_ids: U32
    """Position of each member's field in `fields`, shape (members,)."""
    keys: U8
    """Keys of all samples, one after another, as bytes."""
    key_starts: U64
    """First byte of each key and, at the end, the number of bytes, shape (samples + 1,)."""
    fields: tuple[str, ...]
    """Field names in the order of their first use."""

    @property
    def num_samples(self) -> int:
        """Samples of the shard."""
        return len(self.sample_starts) - 1

    @property
    def size_bytes(self) -> int:
        """Memory of all columns."""
        columns = (self.sample_starts, self.offsets, self.sizes, self.field_ids, self.keys, self.key_starts)
        return sum(column.nbytes for column in columns)

    @property
    def num_members(self) -> int:
        """Members that belong to samples."""
        return len(self.offsets)

    def key(self, sample: int) -> str:
        """The key of one sample."""
        return text_of(self.keys[int(self.key_starts[sample]) : int(self.key_starts[sample + 1])].tobytes())

    def field_numbers(self, names: Sequence[str]) -> U32:
        """Numbers of fields by name; a name that the shard lacks gets a number that no member has."""
        numbers = {name: number for number, name in enumerate(self.fields)}
        return np.array([numbers.get(name, len(self.fields)) for name in names], dtype=np.uint32)

    def locate(self, samples: I64, field_ids: U32) -> tuple[U64, U64, I32]:
        """Offset, size and choice for each sample: the member with the field that comes first in `field_ids`.

        The choice is a position in `field_ids`, or -1 (with offset and size 0) where the sample has none of them.
        """
        try:
            return _native.locate(
                self.sample_starts, self.offsets, self.sizes, self.field_ids, np.ascontiguousarray(samples), field_ids
            )
        except IndexError as error:
            raise ShardChangedError(
                "a sample lies outside of its shard's index", accepted=f"0 to {self.num_samples - 1}"
            ) from error

    def extent(self, first: int, count: int) -> tuple[int, int]:
        """First byte and end of the data of `count` samples from `first` on, as they lie in the shard."""
        members = slice(int(self.sample_starts[first]), int(self.sample_starts[first + count]))
        if members.start == members.stop:
            return 0, 0
        begins = self.offsets[members]
        return int(begins.min()), int((begins + self.sizes[members]).max())

    def members_of(self, sample: int) -> list[tuple[str, int, int]]:
        """Field, offset and size of the members of one sample, in the order of the shard."""
        members = range(int(self.sample_starts[sample]), int(self.sample_starts[sample + 1]))
        return [(self.fields[self.field_ids[m]], int(self.offsets[m]), int(self.sizes[m])) for m in members]

    def select(self, kept: Bools) -> IndexTable:
        """The table of the samples where `kept`, shape (samples,), is true."""
        members = np.repeat(kept, lengths_of(self.sample_starts))
        lengths = lengths_of(self.key_starts)
        return replace(
            self,
            sample_starts=starts_of(lengths_of(self.sample_starts)[kept]).astype(np.uint32),
            offsets=self.offsets[members],
            sizes=self.sizes[members],
            field_ids=self.field_ids[members],
            keys=self.keys[np.repeat(kept, lengths)],
            key_starts=starts_of(lengths[kept]).astype(np.uint64),
        )

    def check(self, shard_size: int) -> None:
        """Raises `IndexFormatError` unless every number stays within the table and the shard."""
        sound = (
            len(self.sample_starts) == len(self.key_starts) > 0
            and len(self.offsets) == len(self.sizes) == len(self.field_ids)
            and is_rising(self.sample_starts, len(self.offsets))
            and is_rising(self.key_starts, len(self.keys))
            and bool((self.field_ids < len(self.fields)).all())
            and bool((self.offsets <= shard_size).all())
            and bool((self.sizes <= shard_size - self.offsets).all())
        )
        if not sound:
            raise IndexFormatError("a shard index points outside of itself or of its shard")


def starts_of(lengths: npt.NDArray[np.integer[Any]]) -> I64:
    """Running sums from 0: where each of these lengths begins, and where the last one ends."""
    starts = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def lengths_of(starts: npt.NDArray[np.unsignedinteger[Any]]) -> I64:
    """The inverse of `starts_of`."""
    signed = starts.astype(np.int64)
    return signed[1:] - signed[:-1]


def is_rising(starts: npt.NDArray[np.unsignedinteger[Any]], end: int) -> bool:
    """Whether starts begin at 0, never fall, and stop at `end`."""
    return int(starts[0]) == 0 and int(starts[-1]) == end and bool((starts[1:] >= starts[:-1]).all())
