"""Files that hold a block where the system has no memory without a name (macOS).

Everybody who has one open holds a shared lock on it. The process that made it takes its name away when it is done
with it. Where that process was killed, the file stays until the next one is made: a file that nobody has locked is
nobody's.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from pathlib import Path

from headrace._base.private_folder import node_name, open_own, private_folder

SUFFIX = ".block"


def create_file() -> tuple[int, str]:
    """A fresh file, locked, with its path. Files that nobody uses any more are removed first.

    Raises:
        OSError: It cannot be made (`StorageError` where the folder is not safe).
    """
    folder = private_folder()
    sweep_files(folder)
    while True:
        path = folder / f"{node_name()}-{secrets.token_hex(8)}{SUFFIX}"
        fd = open_own(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
        fcntl.flock(fd, fcntl.LOCK_SH)
        if path.exists():
            return fd, str(path)
        os.close(fd)  # somebody swept it away between its making and its lock


def open_file(path: str) -> int:
    """Opens and locks a file for reading.

    Raises:
        OSError: It is gone, or not this user's own.
    """
    fd = open_own(Path(path), os.O_RDONLY)
    fcntl.flock(fd, fcntl.LOCK_SH)
    return fd


def sweep_files(folder: Path) -> None:
    """Removes the files of this node that no process has open."""
    for path in folder.glob(f"{node_name()}-*{SUFFIX}"):
        with contextlib.suppress(OSError):
            fd = open_own(path, os.O_RDONLY)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                path.unlink()
            finally:
                os.close(fd)
