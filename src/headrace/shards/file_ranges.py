"""Many files opened at once, and many ranges of them read at once, without the GIL."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from headrace import _native
from headrace._base.os_errors import storage_error
from headrace.contracts import I64, U64
from headrace.errors import SourceError


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFiles:
    """Files that are open for reading."""

    paths: Sequence[str]
    fds: npt.NDArray[np.int32]
    """Descriptor of each file, shape (files,)."""
    sizes: I64
    """Size of each file in bytes, shape (files,)."""

    def read(self, files: I64, offsets: I64, sizes: I64, addresses: U64) -> None:
        """Reads ranges to memory.

        Args:
            files: Which file each range is of, shape (ranges,).
            offsets: First byte of each range.
            sizes: Bytes of each range.
            addresses: Where the bytes go; neighbouring ranges that go to neighbouring places are read together.

        Raises:
            SourceError: A file ends before the range does.
            StorageError: A file cannot be read.
        """
        status = _native.read_ranges(self.fds[files], offsets.astype(np.uint64), sizes.astype(np.uint64), addresses)
        failed = np.flatnonzero(status)
        if len(failed):
            path = self.paths[files[failed[0]]]
            if status[failed[0]] < 0:
                raise SourceError("a file became shorter while it was read", path=path, retryable=True)
            raise storage_error(int(status[failed[0]]), "a file cannot be read", path)


@contextmanager
def open_all(paths: Sequence[str]) -> Iterator[OpenFiles]:
    """Opens files for as long as the block lasts.

    Raises:
        StorageError: A file cannot be opened; it is named.
    """
    fds, sizes, errors = _native.open_files([os.fsencode(path) for path in paths])
    try:
        failed = np.flatnonzero(errors)
        if len(failed):
            raise storage_error(int(errors[failed[0]]), "a file cannot be opened", paths[failed[0]])
        yield OpenFiles(paths=paths, fds=fds, sizes=sizes.astype(np.int64))
    finally:
        _native.close_files(fds)
