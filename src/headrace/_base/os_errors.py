"""Errors of the operating system as errors of headrace."""

from __future__ import annotations

import errno
import os
from typing import Any

from headrace.errors import DiskFullError, StorageError

RETRYABLE = frozenset({errno.EINTR, errno.EAGAIN, errno.EIO, errno.ETIMEDOUT, errno.ESTALE, errno.EBUSY})
FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""No space, no quota, or beyond the largest file that the limits of the process or the file system allow."""
TOO_MANY_OPEN = frozenset({errno.EMFILE, errno.ENFILE})


def storage_error(number: int, what: str, path: str | os.PathLike[str], **where: Any) -> StorageError:
    """The error for an errno: `what` says what was tried ("cannot be read"), `path` on which file."""
    kind = DiskFullError if number in FULL else StorageError
    remedy = None
    if number in FULL:
        remedy = "Free some space, or write to another disk, and start again"
    elif number in TOO_MANY_OPEN:
        remedy = "Raise the limit on open files (`ulimit -n`)"
    return kind(
        what,
        got=f"{os.strerror(number)} (errno {number})",
        remedy=remedy,
        retryable=number in RETRYABLE,
        path=os.fspath(path),
        **where,
    )


def from_os_error(error: OSError, what: str, path: str | os.PathLike[str], **where: Any) -> StorageError:
    """The same from an exception; a `StorageError` is passed on as it is."""
    if isinstance(error, StorageError):
        return error
    return storage_error(error.errno or errno.EIO, what, path, **where)
