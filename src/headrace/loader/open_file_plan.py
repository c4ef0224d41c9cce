"""Whether the open files that a configuration needs are allowed: a pure decision, and its facts for one case."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._base.machine import Machine
from headrace._base.open_files import MOST_FILES, PART_OF_LIMIT, num_open_files
from headrace._base.units import count
from headrace.errors import OpenFilesError

OF_A_WORKER = 8
"""Descriptors in the trainer's process for one worker process: its socket, its memory, its process, and a copy of the
second for each of up to four windows of it (64, 128, 256, 512 MiB); the eighth is there only while it starts."""
OF_ALL_WORKERS = 16
"""Pipes, tasks and the work itself, whatever the number of workers."""
OF_THE_PROGRAM = 32
"""Left to code of the user and to libraries, beside what they have open already; under a low limit an eighth of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenFilePlan:
    """How many files may be open, and what follows."""

    num_processes: int
    """Worker processes that can be started."""
    raise_to: int | None
    """The soft limit to set before anything starts; None: it stays."""
    choice: str | None
    """What `explain` says of it; None where nothing had to be decided."""
    reason: str


def plan_open_files(
    num_processes: int, num_files: int, *, fewest_processes: int = 1, num_open: int, soft: int | None, hard: int | None
) -> OpenFilePlan:
    """Raises the soft limit as far as needed, and makes do with what there is where it cannot be raised.

    Args:
        num_processes: Worker processes that are wanted; 0 for none.
        num_files: Shards of the dataset, or loose files of a batch; 0 where Python opens what it wants.
        fewest_processes: Worker processes that there must be, where any are wanted.
        num_open: What this process has open.
        soft: The limit in force; None without one.
        hard: How far it can be raised; None: as far as one likes.

    Raises:
        OpenFilesError: There is no room for the fewest worker processes.
    """
    num_files = min(num_files, MOST_FILES)
    taken = num_open + OF_THE_PROGRAM + 2 * num_files + of_processes(num_processes)
    needed = max(PART_OF_LIMIT * num_files, taken)
    if soft is None or needed <= soft:
        return OpenFilePlan(num_processes=num_processes, raise_to=None, choice=None, reason="the limit is high enough")
    limit = needed if hard is None else min(needed, hard)
    raise_to = limit if limit > soft else None
    at_once = min(num_files, limit // PART_OF_LIMIT)
    taken = num_open + of_others(limit, num_files)
    possible = max(0, min(num_processes, (limit - taken - OF_ALL_WORKERS) // OF_A_WORKER))
    if possible < min(fewest_processes, num_processes):
        raise OpenFilesError(
            f"{count(fewest_processes, 'worker process', 'worker processes')} cannot be had: too few files may be open",
            got=f"a limit of {limit}, {num_open} of which are open already",
            accepted=f"a limit of {least_limit(fewest_processes, num_files, num_open)} or more: {OF_A_WORKER} for each "
            f"worker (its socket, its process, its memory in up to four pieces, its start), {OF_ALL_WORKERS} for what "
            "all of them share (pipes, tasks, the dataset), the rest for the program and its files",
            remedy='Raise the limit (ulimit -n), close what is not needed, or use num_workers=0 or engine="threads".',
        )
    changes = []
    if raise_to is not None:
        changes.append(f"limit raised from {soft:,} to {raise_to:,}")
    if possible < num_processes:
        changes.append(f"{possible} of {num_processes} worker processes")
    if num_files > at_once:
        changes.append(f"{count(max(1, at_once), 'file')} at a time instead of {num_files:,}")
    full = f"{needed:,} would be needed, {limit:,} are allowed" if limit < needed else f"{needed:,} are needed"
    return OpenFilePlan(num_processes=possible, raise_to=raise_to, choice=", ".join(changes), reason=full)


def of_others(limit: int, num_files: int) -> int:
    """Descriptors for the program and for files of the dataset: some are read, as many are kept for later."""
    return min(OF_THE_PROGRAM, limit // 8) + 2 * min(num_files, limit // PART_OF_LIMIT)


def least_limit(num_processes: int, num_files: int, num_open: int) -> int:
    """The lowest limit with which so many worker processes can be had."""
    limit = num_open + of_processes(num_processes)
    while num_open + of_others(limit, num_files) + of_processes(num_processes) > limit:
        limit += 1
    return limit


def lack_of_files(num_files: int, machine: Machine) -> str | None:
    """Why not even one worker process can be had beside these files; None where one can."""
    num_open, soft, hard = num_open_files(), machine.open_files_soft, machine.open_files_hard
    try:
        plan_open_files(1, num_files, num_open=num_open, soft=soft, hard=hard)
    except OpenFilesError as error:
        return f"there is no room for a worker process: {error.got}, accepted: {error.accepted} (ulimit -n)"
    return None


def of_processes(num_processes: int) -> int:
    """Descriptors for worker processes."""
    return OF_ALL_WORKERS + OF_A_WORKER * num_processes if num_processes else 0
