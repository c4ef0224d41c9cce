"""Loose files as a source: opened, read and closed natively, a batch at a time."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xxhash

from headrace._base.open_files import OPEN_FILES
from headrace.contracts import I64, Allocate, ByteColumn, Column, Layout, SampleName, ValueColumn
from headrace.datasets.merge_columns import merge_bytes
from headrace.errors import StorageError
from headrace.storage import read_files
from headrace.storage.arena import ENDED_EARLY

FOR_GOOD = (errno.ENOENT, errno.EACCES, errno.EISDIR)
"""Errors that trying again does not mend."""

HASHED_TOGETHER = 1 << 14
"""Paths that are given to the hash in one call: a million paths take 0.09 s so, and 0.29 s one by one."""


class FileSource:
    """One file a sample, with a label.

    The paths are held as one block of bytes and their ends: 10 million paths are one object, which forked or threaded
    readers share, instead of 10 million strings whose reference counts touch every page.
    """

    def __init__(self, paths: Sequence[str], labels: Sequence[int], *, root: str, field: str, label_field: str) -> None:
        encoded = [os.fsencode(path) for path in paths]
        self.blob = b"".join(encoded)
        self.ends = np.cumsum([len(path) for path in encoded], dtype=np.int64)
        self.labels = np.asarray(labels, dtype=np.int64)
        self.root = root
        self.field = field
        self.label_field = label_field

    def path(self, index: int) -> bytes:
        """Path of a sample."""
        start = int(self.ends[index - 1]) if index else 0
        return self.blob[start : int(self.ends[index])]

    def layout(self) -> Layout:
        """One shard without a known size."""
        return Layout(samples=np.array([len(self.ends)], dtype=np.int64), sizes=np.zeros(1, dtype=np.int64))

    def identity(self) -> Mapping[str, Any]:
        """Number of files and a hash of relative paths and labels."""
        digest = xxhash.xxh3_64()
        root = os.fsencode(self.root).rstrip(b"/") + b"/"
        begin = 0
        for first in range(0, len(self.ends), HASHED_TOGETHER):
            ends = self.ends[first : first + HASHED_TOGETHER].tolist()
            borders = zip([begin, *ends[:-1]], ends, strict=True)
            paths = [self.blob[start:end].removeprefix(root) for start, end in borders]
            digest.update(b"\0".join([*paths, b""]))
            begin = ends[-1]
        digest.update(self.labels.astype("<i8").tobytes())
        return {"kind": "files", "num": len(self.ends), "content": digest.hexdigest()}

    def fetch(self, ids: I64, allocate: Allocate) -> Mapping[str, Column]:
        """The bytes of the files, in one arena unless they are more than may be open at once, and their labels.

        Raises:
            StorageError: A file cannot be opened or read; the error names it.
        """
        most = OPEN_FILES.most_at_once
        parts = [np.arange(first, min(first + most, len(ids))) for first in range(0, len(ids), most)]
        column = merge_bytes([(rows, self._fetch(ids[rows], allocate)) for rows in parts], len(ids))
        return {self.field: column, self.label_field: ValueColumn(values=self.labels[ids])}

    def _fetch(self, ids: I64, allocate: Allocate) -> ByteColumn:
        """The bytes of files that may be open at once."""
        with OPEN_FILES.reading(len(ids)):
            read = read_files(self.blob, self.ends, ids, allocate)
        if read.failed:
            raise self._error(ids, *min(read.failed.items()))
        return ByteColumn(addresses=read.addresses, sizes=read.sizes, owner=read.arena)

    def names(self, ids: I64) -> Sequence[SampleName]:
        """The paths."""
        return [SampleName(shard=None, key=os.fsdecode(self.path(int(index)))) for index in ids]

    def _error(self, ids: I64, row: int, code: int) -> StorageError:
        """What the file of a row that could not be read says."""
        path = os.fsdecode(self.path(int(ids[row])))
        reason = "it became shorter while it was read" if code == ENDED_EARLY else os.strerror(code)
        return StorageError(
            f"cannot read {path}: {reason}",
            path=path,
            stage="fetch",
            remedy="Check the file; a dataset that changes while it is trained on is not supported",
            retryable=code not in FOR_GOOD,
        )
