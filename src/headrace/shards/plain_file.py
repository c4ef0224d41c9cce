"""Files beside shards, which strangers may have put there: opened only where they are plain files of a sane size."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from io import BufferedReader

from headrace._base.units import count, format_bytes
from headrace.errors import IndexFormatError


@contextlib.contextmanager
def opened_plain(path: str | os.PathLike[str]) -> Iterator[BufferedReader]:
    """A file that is open for reading.

    Raises:
        IndexFormatError: It is a folder, a pipe, which would wait for its writer, or a device, which has no end.
        OSError: It cannot be opened.
    """
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        is_plain = stat.S_ISREG(os.fstat(fd).st_mode)
        file = open(fd, "rb") if is_plain else None  # noqa: SIM115 - closed below
    except BaseException:
        os.close(fd)
        raise
    if file is None:
        os.close(fd)
        raise IndexFormatError("an index is a folder, a pipe or a device", accepted="a file", path=os.fspath(path))
    with file:
        yield file


def read_plain(path: str | os.PathLike[str], most_bytes: int) -> bytes:
    """The bytes of a file.

    Raises:
        IndexFormatError: It is no plain file, or larger than `most_bytes`: that much memory is not taken.
        OSError: It cannot be read.
    """
    with opened_plain(path) as file:
        size = os.fstat(file.fileno()).st_size
        if size > most_bytes:
            raise IndexFormatError(
                "an index is too large to be read",
                got=count(size, "byte"),
                accepted=f"at most {format_bytes(most_bytes)}",
                path=os.fspath(path),
            )
        return file.read(most_bytes)
