"""Files that appear under their name only when they are complete.

The bytes go to a temporary file in the same folder; it is flushed to the disk and renamed, then the folder is flushed,
so that after a crash there is either the whole file or none.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from types import TracebackType
from typing import Self

from headrace._base.os_errors import from_os_error

TEMPORARY_SUFFIX = ".tmp"


def temporary_path(path: Path) -> Path:
    """A fresh name beside `path`; hidden, so that no glob for shards finds it."""
    return path.with_name(f".{path.name}.{secrets.token_hex(6)}{TEMPORARY_SUFFIX}")


def sync_folder(folder: Path) -> None:
    """Flushes a folder's entries; file systems that cannot do it are left alone."""
    with contextlib.suppress(OSError):
        fd = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)


class AtomicFile:
    """A file being written. Leaving the `with` block publishes it; an exception removes it.

    Args:
        path: Where the file is to appear; its folder must exist.
        durable: Whether to flush to the disk before the rename. False for what can be made anew (caches).

    Raises:
        StorageError: The temporary file cannot be made, flushed or renamed (`DiskFullError` where no space is left).
    """

    def __init__(self, path: str | os.PathLike[str], *, durable: bool = True) -> None:
        self.path = Path(path)
        self.temporary = temporary_path(self.path)
        self.durable = durable
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        try:
            self.fd = os.open(self.temporary, flags, 0o666)
        except OSError as error:
            raise from_os_error(error, "a file cannot be created", self.path) from error

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Appends all of `data`."""
        view = memoryview(data).cast("B")
        try:
            while view:
                view = view[os.write(self.fd, view) :]
        except OSError as error:
            raise from_os_error(error, "a file cannot be written", self.path) from error

    def commit(self) -> None:
        """Flushes, closes and renames. On failure nothing is left behind."""
        try:
            if self.durable:
                os.fsync(self.fd)
            os.close(self.fd)
            self.fd = -1
            self.temporary.replace(self.path)
        except OSError as error:
            self.discard()
            raise from_os_error(error, "a file cannot be completed", self.path) from error
        if self.durable:
            sync_folder(self.path.parent)

    def discard(self) -> None:
        """Closes and removes the temporary file. Idempotent; does nothing after `commit`."""
        if self.fd >= 0:
            with contextlib.suppress(OSError):
                os.close(self.fd)
            self.fd = -1
        self.temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()


def write_atomic(path: str | os.PathLike[str], data: bytes, *, durable: bool = True) -> None:
    """Writes a whole file, or none of it. Raises `StorageError`."""
    with AtomicFile(path, durable=durable) as file:
        file.write(data)
