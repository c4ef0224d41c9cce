"""Loose files and what is known of them, in shared memory."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import xxhash

from headrace.contracts import I64, NO_ROWS
from headrace.datasets.files.columns import ColumnFacts, TableFacts
from headrace.datasets.shared.block import Block
from headrace.datasets.shared.column import Column
from headrace.datasets.shared.number_column import NumberColumn
from headrace.datasets.shared.ragged_column import RaggedColumn
from headrace.datasets.shared.record_column import DictColumn

HASHED_TOGETHER = 1 << 16
"""Stems that are looked through together where some of them are absolute."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumn:
    """Paths of one file a row."""

    root: bytes
    """With a slash at its end."""
    stems: RaggedColumn
    suffix_ids: npt.NDArray[Any]
    """Shape (rows,); 0 where a row has no file."""
    suffixes: tuple[bytes, ...]
    """By suffix id; empty for 0."""

    def paths(self, rows: I64) -> list[bytes]:
        """The path of the file of each row."""
        root, suffixes = self.root, self.suffixes
        ends = self.suffix_ids[rows].tolist()
        # A stem of its own is absolute, as with os.path.join.
        return [
            (stem if stem[:1] == b"/" else root + stem) + suffixes[end]
            for stem, end in zip(self.stems.items(rows), ends, strict=True)
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueColumns:
    """Values of one column, and the rows that have none."""

    column: Column
    absent: I64

    def take(self, rows: I64) -> Sequence[Any] | npt.NDArray[Any]:
        """The values of these rows: numbers as an array of 64 bits each, as Python has them."""
        if not isinstance(self.column, NumberColumn):
            return self.column.items(rows)
        values = self.column.values[rows]
        return values.astype(np.int64) if values.dtype.kind == "i" else values

    def absent_of(self, rows: I64) -> I64:
        """Places among these rows that have no value."""
        return np.flatnonzero(np.isin(rows, self.absent)) if len(self.absent) else NO_ROWS


class FileTable:
    """A table of files, read from the block that holds it. Sent to another process it is a handle.

    Args:
        block: What `TableBuilder` has packed.
    """

    def __init__(self, block: Block) -> None:
        self.block = block
        self.facts = TableFacts.of_json(block.header.schema["facts"])
        column = cast("DictColumn", block.column)
        self.parts = dict(zip(column.names, column.columns, strict=True))

    def __len__(self) -> int:
        """Samples."""
        return self.block.header.num_rows

    def __reduce__(self) -> tuple[Any, ...]:
        return FileTable, (self.block,)

    @property
    def size_bytes(self) -> int:
        """Memory of the table, once for all processes that share it."""
        return self.block.size_bytes

    def files(self, column: ColumnFacts) -> FileColumn:
        """A column of files."""
        suffixes = self.parts[f"suffixes {column.name}"]
        return FileColumn(
            root=os.fsencode(self.facts.root).rstrip(b"/") + b"/",
            stems=cast("RaggedColumn", self.parts[f"stems {column.stems}"]),
            suffix_ids=cast("NumberColumn", suffixes).values,
            suffixes=(b"", *map(os.fsencode, column.suffixes)),
        )

    def values(self, column: ColumnFacts) -> ValueColumns:
        """A column of values."""
        absent = self.parts.get(f"absent {column.name}")
        return ValueColumns(
            column=self.parts[f"values {column.name}"],
            absent=cast("NumberColumn", absent).values if absent is not None else NO_ROWS,
        )

    @cached_property
    def first_files(self) -> Sequence[FileColumn]:
        """The columns of files, in their order: the first file of a row is what a sample is called by."""
        return [self.files(column) for column in self.facts.columns if column.role == "files"]

    def path(self, row: int) -> str:
        """The first file of a row."""
        for column in self.first_files:
            if column.suffix_ids[row]:
                return os.fsdecode(column.paths(np.array([row]))[0])
        return f"row {row}"

    def digest(self) -> str:
        """A hash of relative paths, without their extensions, and labels, as 16 hex digits.

        The same files under another root, or converted to another format, are the same samples in the same order.
        """
        digest = xxhash.xxh3_64()
        stems = next(cast("RaggedColumn", part) for name, part in self.parts.items() if name.startswith("stems "))
        hash_stems(stems, digest)
        if self.facts.label is not None:
            labels = cast("NumberColumn", self.parts[f"values {self.facts.label}"]).values
            digest.update(np.ascontiguousarray(labels, dtype="<i8").data)
        return digest.hexdigest()


def hash_stems(stems: RaggedColumn, digest: xxhash.xxh3_64) -> None:
    """Hashes stems, absolute ones without the folder that all absolute ones lie in.

    Where there are none, and mostly there are none, that is the block of their bytes and their lengths.
    """
    num = len(stems.offsets) - 1
    pieces = [np.arange(first, min(first + HASHED_TOGETHER, num)) for first in range(0, num, HASHED_TOGETHER)]
    begins = stems.offsets[:-1][np.diff(stems.offsets.astype(np.int64)) > 0]
    blob = np.frombuffer(stems.blob, dtype=np.uint8)
    if not (blob[begins.astype(np.int64)] == ord("/")).any():
        digest.update(stems.blob)
        for rows in pieces:
            digest.update(lengths(stems, rows).data)
        return
    common = common_folder(stems, pieces)
    sizes = []
    for rows in pieces:
        found = [stem.removeprefix(common) for stem in stems.items(rows)]
        digest.update(b"".join(found))
        sizes.append(np.fromiter(map(len, found), dtype="<i8", count=len(found)))
    digest.update(np.concatenate(sizes).data)


def lengths(stems: RaggedColumn, rows: I64) -> I64:
    """Bytes of each stem of neighbouring rows, shape (rows,)."""
    ends: I64 = stems.offsets[rows[0] : rows[-1] + 2].astype("<i8")
    return np.diff(ends)


def common_folder(stems: RaggedColumn, pieces: Sequence[I64]) -> bytes:
    """The folder that all absolute stems lie in, with a slash at its end."""
    found = (stem for rows in pieces for stem in stems.items(rows) if stem[:1] == b"/")
    folders: set[bytes] = {os.path.dirname(stem) for stem in found}  # noqa: PTH120 - bytes
    return os.path.commonpath(folders).rstrip(b"/") + b"/"
