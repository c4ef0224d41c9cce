"""What the system refuses an engine, as errors that name the limit."""

from __future__ import annotations

import errno

from headrace._base.process_limits import read_process_limits, remedy
from headrace._base.units import count, format_bytes
from headrace.errors import MemoryBudgetError, OpenFilesError, ResourceError, WorkerError

OF_STORAGE = frozenset({errno.EFBIG, errno.ENOSPC, errno.EDQUOT, errno.ENOMEM})
"""No room for what is written to a file of ours."""

OF_FILES = frozenset({errno.EMFILE, errno.ENFILE})


def no_memory(error: OSError | MemoryError, what: str, size_bytes: int) -> ResourceError:
    """Memory that the system does not give.

    Args:
        error: What it has said.
        what: What the memory is for.
        size_bytes: How much was asked for.
    """
    number = getattr(error, "errno", None) or errno.ENOMEM
    kind = OpenFilesError if number in OF_FILES else MemoryBudgetError  # each mapping of a file takes a descriptor
    return kind(
        f"the system gives no memory for {what}",
        got=f"{format_bytes(size_bytes)} asked for: {error}",
        remedy=remedy(number, "memory", read_process_limits(), size_bytes),
    )


def no_thread(num_threads: int, alive: str) -> WorkerError:
    """A thread that cannot be started.

    Args:
        num_threads: How many were asked for.
        alive: What there is already, in words.
    """
    return WorkerError(
        "the system gives no further thread",
        got=f"{count(num_threads, 'thread')} asked for, {alive}",
        remedy=remedy(errno.EAGAIN, "a thread", read_process_limits()),
        retryable=True,
    )


def no_process(error: OSError, num_workers: int) -> WorkerError:
    """Worker processes that cannot be started.

    Args:
        error: What the system has said.
        num_workers: How many were asked for.
    """
    return WorkerError(
        "worker processes cannot be started",
        got=f"{error} ({count(num_workers, 'worker')})",
        remedy=remedy(error.errno or errno.EAGAIN, "a process", read_process_limits()),
        retryable=True,
    )
