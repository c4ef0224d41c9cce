"""Where the fields of a batch lie, in files that stay open as long as somebody reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import numpy as np
import numpy.typing as npt

from headrace import _native
from headrace.contracts import I64, U64, Bools
from headrace.errors import HeadraceError, ShardChangedError
from headrace.shards.open_shard import OpenShard
from headrace.shards.table import I32

Entry = Sequence[str]
"""Field names of one entry, in order of preference (`("jpg", "jpeg", "png")`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldRanges:
    """Where one entry's bytes lie for the rows of a batch."""

    offsets: U64
    """First byte in the row's shard, shape (rows,); 0 where absent."""
    sizes: U64
    """Bytes, shape (rows,); 0 where absent."""
    choices: I32
    """Which name of the entry the sample has, shape (rows,); -1 where it has none."""

    @property
    def present(self) -> Bools:
        """Whether the sample has the field, shape (rows,)."""
        return self.choices >= 0


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeLease:
    """Ranges of open files. The descriptors stay valid until the `with` block (or `release`) ends."""

    fds: npt.NDArray[np.int32]
    """Descriptor of each row's shard, shape (rows,); -1 where the shard cannot be used."""
    columns: tuple[FieldRanges, ...]
    """One for each entry."""
    faults: Mapping[int, HeadraceError]
    """Rows whose sample cannot be had, with `on_error="skip"`; nothing of them is present."""
    release: Callable[[], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


class BatchRanges:
    """The ranges of a batch while its shards are opened one by one; then all rows are located at once."""

    def __init__(self, ids: I64, entries: Sequence[Entry]) -> None:
        self.ids = ids
        self.entries = [tuple(entry) for entry in entries]
        self.opened: list[OpenShard] = []
        self.places = np.full(len(ids), -1, dtype=np.int32)
        self.samples = np.zeros(len(ids), dtype=np.int64)
        self.faults: dict[int, HeadraceError] = {}
        self.shards: list[int] = []

    def place(self, opened: OpenShard, rows: npt.NDArray[np.intp], samples: I64) -> None:
        """Notes that these rows are these samples of one open shard."""
        if opened.index.faults:  # it may have been cut short since the dataset was indexed; only with on_error="skip"
            lost = samples >= opened.index.num_samples
            error = opened.index.faults[0].error
            self.faults.update((int(row), error) for row in rows[lost])
            rows, samples = rows[~lost], samples[~lost]
        self.places[rows] = len(self.opened)
        self.samples[rows] = samples
        self.opened.append(opened)

    def fds(self) -> npt.NDArray[np.int32]:
        """Descriptor of each row's shard, -1 where there is none, shape (rows,)."""
        return np.array([*(shard.fd for shard in self.opened), -1], dtype=np.int32)[self.places]

    def columns(self) -> tuple[FieldRanges, ...]:
        """Where the fields of all rows lie, one for each entry."""
        pointers = np.array([shard.pointers for shard in self.opened], dtype=np.uint64).reshape(-1, 6)
        return tuple(self.column(pointers, entry) for entry in self.entries)

    def column(self, pointers: U64, entry: tuple[str, ...]) -> FieldRanges:
        """Where the field of one entry lies for all rows."""
        numbers = [shard.field_numbers(entry) for shard in self.opened]
        wanted = np.array(numbers, dtype=np.uint32).reshape(len(self.opened), len(entry))
        try:
            offsets, sizes, choices = _native.locate_rows(pointers, wanted, self.places, self.samples)
        except IndexError as error:
            raise ShardChangedError("a sample lies outside of its shard's index") from error
        return FieldRanges(offsets=offsets, sizes=sizes, choices=choices)
