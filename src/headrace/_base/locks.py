"""Locks between processes, held on a file."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator

from headrace._base.os_errors import from_os_error
from headrace.errors import StorageError

POLL_S = 0.05
NO_LOCKS = frozenset({errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP})


@contextlib.contextmanager
def file_lock(path: str | os.PathLike[str], *, timeout_s: float) -> Iterator[None]:
    """Holds the lock of `path` (made if missing); the system frees it when its holder dies.

    On a file system that knows no locks nobody is kept out.

    Raises:
        StorageError: The lock file cannot be made, or another process held the lock for `timeout_s` seconds.
    """
    try:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise from_os_error(error, "a lock file cannot be opened", path) from error
    try:
        acquire(fd, path, timeout_s)
        yield
    finally:
        os.close(fd)


def acquire(fd: int, path: str | os.PathLike[str], timeout_s: float) -> None:
    """Takes an exclusive lock, asking again every `POLL_S` until `timeout_s` is over."""
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise StorageError(
                    f"another process held a lock for {timeout_s:g} s",
                    remedy="See whether that process still makes progress, or remove the lock file",
                    retryable=True,
                    path=os.fspath(path),
                ) from None
            time.sleep(POLL_S)
        except OSError as error:
            if error.errno in NO_LOCKS:
                return
            raise from_os_error(error, "a lock cannot be taken", path) from error
        else:
            return
