"""Limits that a process has beside those of its control group, and which of them is in the way.

The system answers with an errno that says nothing of the limit: a thread whose stack finds no address space is
refused like one too many (EAGAIN), for instance.
"""

from __future__ import annotations

import errno
import resource
from dataclasses import dataclass
from typing import Literal, TypeAlias

import psutil

from headrace._base.units import format_bytes

Wanted: TypeAlias = Literal["a thread", "a process", "memory"]

STACK_BYTES = 8 << 20
"""Address space of a thread's stack where the limit on it says nothing."""
NEARLY_BYTES = 64 << 20
"""What a process needs at once in a row: reading its size and failing are two moments. A window of shared memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """Soft limits of this process, None without one, and what it has taken."""

    address_space_bytes: int | None = None
    taken_bytes: int = 0
    """Address space that is taken."""
    data_bytes: int | None = None
    file_bytes: int | None = None
    """The largest file that it may write; files without a name count too."""
    locked_bytes: int | None = None
    num_processes: int | None = None
    """Processes and threads of its user."""
    open_files: int | None = None
    stack_bytes: int | None = None

    def lacks_space(self, size_bytes: int) -> bool:
        """Whether the limit on address space leaves less than this, or next to nothing beyond it."""
        limit = self.address_space_bytes
        return limit is not None and self.taken_bytes + size_bytes + NEARLY_BYTES > limit


def read_process_limits() -> ProcessLimits:
    """The limits, now."""
    return ProcessLimits(
        address_space_bytes=soft_limit(resource.RLIMIT_AS),
        taken_bytes=int(psutil.Process().memory_info().vms),
        data_bytes=soft_limit(resource.RLIMIT_DATA),
        file_bytes=soft_limit(resource.RLIMIT_FSIZE),
        locked_bytes=soft_limit(resource.RLIMIT_MEMLOCK),
        num_processes=soft_limit(resource.RLIMIT_NPROC),
        open_files=soft_limit(resource.RLIMIT_NOFILE),
        stack_bytes=soft_limit(resource.RLIMIT_STACK),
    )


def soft_limit(which: int) -> int | None:
    """A soft limit; None without one."""
    soft, _ = resource.getrlimit(which)
    return None if soft == resource.RLIM_INFINITY else soft


def remedy(number: int, wanted: Wanted, limits: ProcessLimits, size_bytes: int = 0) -> str:
    """Which limit is in the way, and what to do.

    Args:
        number: The errno. A thread that Python or C++ could not start is EAGAIN.
        wanted: What was asked for.
        limits: As they were then.
        size_bytes: How much memory was asked for, where that is known.
    """
    if number in PLAIN:
        return PLAIN[number].format(files=limits.open_files or "unlimited", size=shown_bytes(limits.file_bytes))
    needed_bytes = max(size_bytes, (limits.stack_bytes or STACK_BYTES) if wanted == "a thread" else 0)
    if limits.lacks_space(needed_bytes):
        return (
            f"Raise the limit on address space (ulimit -v, now {shown_bytes(limits.address_space_bytes)}, "
            f"{format_bytes(limits.taken_bytes)} of which are taken), or lift it (ulimit -v unlimited): it also counts "
            "what is only reserved, as by torch; or use fewer workers."
        )
    return of_memory(number, limits) if number == errno.ENOMEM or wanted == "memory" else of_tasks(limits)


PLAIN = {
    errno.EMFILE: "Close files, or raise the limit on open files (ulimit -n, now {files}).",
    errno.ENFILE: "The whole system has too many files open: close some, or raise fs.file-max.",
    errno.EFBIG: "Raise the limit on the size of files (ulimit -f, now {size}), or lift it (ulimit -f unlimited): "
    "batches of worker processes lie in files without a name, which count too.",
    errno.ENOSPC: "Free some space: shared memory lies in a temporary file here (TMPDIR).",
}
"""Errnos that mean one limit only."""


def of_memory(number: int, limits: ProcessLimits) -> str:
    """Memory that is refused although there is address space."""
    if number in (errno.EAGAIN, errno.EPERM):  # mlockall(MCL_FUTURE): new memory would be locked
        return of_locked(limits)
    if limits.data_bytes is not None:
        return f"Raise the limit on memory (ulimit -d, now {shown_bytes(limits.data_bytes)}), or use fewer workers."
    return (
        "The system gives no more memory: use fewer workers or smaller batches, or give the job more "
        "(vm.overcommit_memory=2 and vm.max_map_count limit it too)."
    )


def of_locked(limits: ProcessLimits) -> str:
    """Memory that cannot be locked."""
    return (
        f"Raise the limit on locked memory (ulimit -l, now {shown_bytes(limits.locked_bytes)}): this program has its "
        "memory locked (mlockall)."
    )


def of_tasks(limits: ProcessLimits) -> str:
    """Threads and processes, which the system counts together."""
    if limits.num_processes is not None:
        return (
            "Use fewer workers, or raise the limit on processes of this user (ulimit -u, now "
            f"{limits.num_processes:,}; threads and other programs of the user count too); containers have another "
            "one, pids.max."
        )
    return "Use fewer workers, or raise the limit on processes of this container (pids.max; threads count)."


def shown_bytes(size_bytes: int | None) -> str:
    """A limit in words."""
    return "unlimited" if size_bytes is None else format_bytes(size_bytes)
