"""A folder in which this user's processes on this node find each other.

It lies in the folder for temporary files, where everybody may make files, so nothing in it is trusted before it is
known that the folder belongs to this user and nobody else may write to it.
"""

from __future__ import annotations

import functools
import os
import stat
import tempfile
import uuid
from pathlib import Path

import xxhash

from headrace._base.os_errors import from_os_error
from headrace.errors import StorageError

BOOT = Path("/proc/sys/kernel/random/boot_id")
PROCESS_IDS = Path("/proc/self/ns/pid")


def private_folder() -> Path:
    """The folder `headrace-<user id>` among the temporary files, made if missing, mode 0700.

    Raises:
        StorageError: It cannot be made, or what lies there is no folder, somebody else's, or open to others.
    """
    user = os.geteuid()
    folder = Path(tempfile.gettempdir()) / f"headrace-{user}"
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        found = folder.lstat()
    except OSError as error:
        raise from_os_error(error, "a folder for what processes share cannot be made (set $TMPDIR)", folder) from error
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != user or stat.S_IMODE(found.st_mode) & 0o077:
        raise StorageError(
            "the folder for what processes share is not safe to use",
            got=f"{stat.filemode(found.st_mode)}, owner {found.st_uid}",
            accepted=f"a folder of user {user} with mode 0700",
            remedy="Remove it, or set $TMPDIR to a folder of your own on this node",
            path=str(folder),
        )
    return folder


def open_own(path: Path, flags: int) -> int:
    """Opens a regular file that belongs to this user and to nobody else; no link is followed, no pipe waited for.

    Raises:
        OSError: It cannot be opened; `PermissionError` where it is not this user's own.
    """
    fd = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o600)
    found = os.fstat(fd)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
        os.close(fd)
        raise PermissionError(f"{path} is not a private file of this user")
    return fd


@functools.cache
def node_name() -> str:
    """16 characters for this node since it was started, and for the processes that can name each other by number.

    Temporary files may lie on a disk that several nodes share, and containers on one node do not see each other's
    processes.
    """
    try:
        facts = f"{BOOT.read_text()}{PROCESS_IDS.readlink()}"
    except OSError:
        facts = f"{uuid.getnode()}"  # macOS
    return xxhash.xxh3_64_hexdigest(facts.encode())
