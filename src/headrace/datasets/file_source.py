"""Loose files as a source: opened, read and closed natively, a batch at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._base.open_files import OPEN_FILES
from headrace.contracts import I32, I64, U64, Allocate, ByteColumn, Column, InMemory, Layout, SampleName, ValueColumn
from headrace.datasets.files.leaves import FileLeaf, Leaf, ValueLeafFacts
from headrace.datasets.files.table import FileTable
from headrace.errors import MissingFieldError, StorageError
from headrace.storage import ArenaRead, read_files
from headrace.storage.arena import ENDED_EARLY

FOR_GOOD = (errno.ENOENT, errno.EACCES, errno.EISDIR, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""Errors that trying again does not mend."""

NOT_THERE = (errno.ENOENT, errno.ENOTDIR)
"""Errors of a file that is not there at all."""

NONE: U64 = np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The files of one leaf for the rows of a batch."""

    rows: I64
    """Rows that have a file, rising, shape (files,)."""
    choices: I32
    """Which extension of the leaf each of them has, shape (files,)."""
    paths: list[bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """The bytes of some files."""

    addresses: U64
    """Shape (files,)."""
    sizes: U64
    """Shape (files,)."""
    failed: Mapping[int, int]
    """What went wrong, by place."""
    owner: object


class FileSource:
    """Some leaves of a table of files.

    Args:
        table: The files.
        leaves: What is taken from it.
    """

    def __init__(self, table: FileTable, leaves: Sequence[Leaf]) -> None:
        self.table = table
        self.leaves = tuple(leaves)

    def layout(self) -> Layout:
        """One shard without a known size."""
        return Layout(samples=np.array([len(self.table)], dtype=np.int64), sizes=np.zeros(1, dtype=np.int64))

    def identity(self) -> Mapping[str, Any]:
        """Number of files and a hash of relative paths and labels."""
        return {"kind": "files", "num": len(self.table), "content": self.table.digest()}

    def fetch(self, ids: I64, allocate: Allocate) -> Mapping[str, Column]:
        """The bytes of all files, and the values.

        Raises:
            StorageError: A file cannot be opened or read; the error names it.
        """
        chosen = {leaf.name: self.choose(leaf, ids) for leaf in self.leaves if isinstance(leaf, FileLeaf)}
        paths = [path for files in chosen.values() for path in files.paths]
        read, lost = self._read(paths, allocate)
        columns: dict[str, Column] = {}
        first = 0
        for leaf in self.leaves:
            if isinstance(leaf, FileLeaf):
                columns[leaf.name] = _column(leaf, chosen[leaf.name], read, lost, first, len(ids))
                first += len(chosen[leaf.name].paths)
            else:
                columns[leaf.name] = self._values(leaf, ids)
        return columns

    def names(self, ids: I64) -> Sequence[SampleName]:
        """The paths."""
        return [SampleName(shard=None, key=self.table.path(int(index))) for index in ids]

    def choose(self, leaf: FileLeaf, ids: I64) -> Chosen:
        """The first part of the leaf that each row has."""
        choices = np.full(len(ids), -1, dtype=np.int32)
        paths: dict[int, bytes] = {}
        for part in leaf.parts:
            files = self.table.files(part.column)
            found = part.choices[files.suffix_ids[ids]]
            rows = np.flatnonzero((choices < 0) & (found >= 0))
            if len(rows) == len(ids):
                return Chosen(rows=rows, choices=found, paths=files.paths(ids))
            choices[rows] = found[rows]
            paths.update(zip(rows.tolist(), files.paths(ids[rows]), strict=True))
        rows = np.flatnonzero(choices >= 0)
        return Chosen(rows=rows, choices=choices[rows], paths=[paths[row] for row in rows.tolist()])

    def _values(self, leaf: ValueLeafFacts, ids: I64) -> ValueColumn:
        """A column of values."""
        values = self.table.values(leaf.column)
        taken = values.take(ids)
        if leaf.names is not None:
            taken = [leaf.names[number] for number in taken]
        return ValueColumn(values=taken, absent=values.absent_of(ids))

    def _read(self, paths: Sequence[bytes], allocate: Allocate) -> tuple[Read, Mapping[int, MissingFieldError]]:
        """The bytes of files, and those that a list names and that are not there, by place."""
        read = _read_all(paths, allocate)
        if not read.failed:
            return read, {}
        lost = self._lost(read, paths)
        # Where one file cannot be opened, nothing is read.
        there = np.array([place for place in range(len(paths)) if place not in lost], dtype=np.int64)
        found = _read_all([paths[place] for place in there.tolist()], allocate)
        for place, code in found.failed.items():
            raise _unreadable(os.fsdecode(paths[there[place]]), code)
        addresses, sizes = (_spread(values, there, len(paths)) for values in (found.addresses, found.sizes))
        return Read(addresses=addresses, sizes=sizes, failed={}, owner=found.owner), lost

    def _lost(self, read: Read, paths: Sequence[bytes]) -> Mapping[int, MissingFieldError]:
        """The files of a list that are not there, by their place among the paths.

        Raises:
            StorageError: A file cannot be read, or one is gone that was there when the folder was listed.
        """
        for place, code in sorted(read.failed.items()):
            if not (self.table.facts.may_lack and code in NOT_THERE):
                raise _unreadable(os.fsdecode(paths[place]), code)
        return {place: _not_there(os.fsdecode(paths[place])) for place in read.failed}


def _column(
    leaf: FileLeaf, chosen: Chosen, read: Read, lost: Mapping[int, MissingFieldError], first: int, num_rows: int
) -> ByteColumn:
    """The files of one leaf as a column; `first` is the place of the first of them in what was read."""
    span = slice(first, first + len(chosen.paths))
    whole = len(chosen.rows) == num_rows
    there = np.zeros(num_rows, dtype=np.bool_)
    there[chosen.rows] = True
    faults = {}
    for row, place in enumerate(range(span.start, span.stop) if lost else ()):
        if place in lost:
            faults[int(chosen.rows[row])] = lost[place]
            there[chosen.rows[row]] = False
    return ByteColumn(
        place=InMemory(
            addresses=read.addresses[span] if whole else _spread(read.addresses[span], chosen.rows, num_rows),
            owner=read.owner,
        ),
        sizes=read.sizes[span] if whole else _spread(read.sizes[span], chosen.rows, num_rows),
        absent=np.flatnonzero(~there),
        choices=_spread(chosen.choices, chosen.rows, num_rows, blank=-1) if leaf.num_choices > 1 else None,
        faults=faults,
    )


def _read_all(paths: Sequence[bytes], allocate: Allocate) -> Read:
    """The bytes of whole files, in one arena unless they are more than may be open at once."""
    most = OPEN_FILES.most_at_once
    reads = [_read_some(paths[first : first + most], allocate) for first in range(0, len(paths), most)]
    return Read(
        addresses=np.concatenate([NONE, *(read.addresses for read in reads)]),
        sizes=np.concatenate([NONE, *(read.sizes for read in reads)]),
        failed={number * most + row: code for number, read in enumerate(reads) for row, code in read.failed.items()},
        owner=[read.arena for read in reads],
    )


def _read_some(paths: Sequence[bytes], allocate: Allocate) -> ArenaRead:
    """The bytes of files that may be open at once."""
    ends = np.cumsum(np.fromiter(map(len, paths), dtype=np.int64, count=len(paths)), dtype=np.int64)
    with OPEN_FILES.reading(len(paths)):
        return read_files(b"".join(paths), ends, np.arange(len(paths), dtype=np.int64), allocate)


def _spread(values: npt.NDArray[Any], rows: I64, num_rows: int, blank: int = 0) -> npt.NDArray[Any]:
    """Values of some rows as a column of all rows."""
    column = np.full(num_rows, blank, dtype=values.dtype)
    column[rows] = values
    return column


def _unreadable(path: str, code: int) -> StorageError:
    """What a file that could not be read says."""
    reason = "it became shorter while it was read" if code == ENDED_EARLY else os.strerror(code)
    return StorageError(
        f"cannot read {path}: {reason}",
        path=path,
        stage="fetch",
        remedy="Check the file; a dataset that changes while it is trained on is not supported",
        retryable=code not in FOR_GOOD,
    )


def _not_there(path: str) -> MissingFieldError:
    """What a row of a list says whose file is not there."""
    return MissingFieldError(
        "a file that the list names is not there",
        path=path,
        stage="fetch",
        remedy='Mend the list; missing="skip" leaves such samples out, missing="none" gives None in its place',
    )
