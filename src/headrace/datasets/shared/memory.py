"""Memory that has no name in any file system (Linux).

It is not limited by the size of /dev/shm, and it is gone with the last process that holds it, whatever ends that
process. Another process of the same user opens it as `/proc/<process>/fd/<number>` of one that holds it. Once written
it is sealed: nobody, not even its maker, can change or shorten it any more, so no reader can be cut off by a bus error.
"""

from __future__ import annotations

import fcntl
import functools
import os
import sys

NAME = "headrace-shared"
LINK = f"/memfd:{NAME} (deleted)"


def create_memory() -> int:
    """Fresh memory, to be written to and then sealed.

    Raises:
        OSError: The system has none of this kind.
    """
    if sys.platform != "linux":
        raise OSError("memory without a name is a feature of Linux")
    fd = os.memfd_create(NAME, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.fchmod(fd, 0o600)
    return fd


def seal_memory(fd: int) -> int:
    """Seals the memory and gives it back opened for reading, the way in which other processes will open it.

    Raises:
        OSError: It cannot be sealed or opened (no /proc).
    """
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, all_seals())
    return open_memory(os.getpid(), fd)


def open_memory(process: int, number: int) -> int:
    """Opens the memory that a process of this user holds.

    Returns:
        A descriptor of our own.

    Raises:
        OSError: The process or the memory is gone, or may not be looked at. `PermissionError` where what is found is
            not sealed memory of this user: numbers of processes and descriptors are used again.
    """
    path = f"/proc/{process}/fd/{number}"
    # Looked at before it is opened: opening a pipe or a device can wait, or have effects.
    if os.readlink(path) != LINK:  # noqa: PTH115 - a string is what it is compared with
        raise PermissionError(f"{path} is something else by now")
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    if os.fstat(fd).st_uid != os.geteuid() or not is_sealed(fd):
        os.close(fd)
        raise PermissionError(f"{path} is not sealed memory of this user")
    return fd


def is_sealed(fd: int) -> bool:
    """Whether nobody can change what `fd` stands for; only memory of this kind can be sealed so."""
    try:
        return fcntl.fcntl(fd, fcntl.F_GET_SEALS) & all_seals() == all_seals()
    except OSError:
        return False


def all_seals() -> int:
    """No writing, no change of size, and no further seals."""
    return fcntl.F_SEAL_WRITE | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL


@functools.cache
def memory_works() -> bool:
    """Whether this system has such memory, and lets other processes open it."""
    try:
        fd = create_memory()
    except (OSError, AttributeError):
        return False
    try:
        os.close(seal_memory(fd))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True
