"""What this process may really use of its machine: CPUs, memory, shared memory, open files.

A container sees all CPUs and all memory of its host; what it may use stands in its control group. Both versions of
control groups are read here; on systems without them the plain system figures are what counts.
"""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

from headrace._base.cgroups import ControlGroups
from headrace._base.headroom import Limiter, read_headroom
from headrace._base.open_files import open_file_limits

SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - the mount point itself is asked about, nothing is created in it


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """Facts about the machine as this process may use it, at the moment they were read."""

    logical_cpus: int
    """CPUs that the system has online."""
    affinity_cpus: int
    """CPUs that this process may run on (`taskset`, cpusets)."""
    quota_cpus: float | None
    """CPU time a second that the control groups allow, None without a limit."""
    memory_total_bytes: int
    """Memory of the machine, or the limit of the control groups where that is less."""
    memory_available_bytes: int
    """Memory that can still be taken before the machine or a control group has none left."""
    memory_limiter: Limiter
    """Which of the two has less."""
    shm_total_bytes: int | None
    """Size of /dev/shm; None where there is no such file system (macOS)."""
    shm_available_bytes: int | None
    open_files_soft: int | None
    """Open-file limit in force; None without one."""
    open_files_hard: int | None
    """How far the limit can be raised without rights; None without one."""

    @property
    def usable_cpus(self) -> int:
        """CPUs to plan with: affinity, cut by the quota (rounded up: half a CPU still needs one thread), at least 1."""
        if self.quota_cpus is None:
            return self.affinity_cpus
        return max(1, min(self.affinity_cpus, -int(-self.quota_cpus // 1)))


def read_machine(root: Path = Path("/")) -> Machine:
    """Reads the facts; a few milliseconds.

    Args:
        root: Where `proc` and `sys` are found; tests put trees of their own there.
    """
    groups = ControlGroups.of_this_process(root)
    system = psutil.virtual_memory()
    limit, headroom = groups.memory_limit_bytes(), read_headroom(groups)
    shm = shutil.disk_usage(SHARED_MEMORY) if SHARED_MEMORY.is_dir() else None
    soft, hard = open_file_limits()
    return Machine(
        logical_cpus=os.cpu_count() or 1,
        affinity_cpus=affinity_cpus(),
        quota_cpus=groups.cpu_quota(),
        memory_total_bytes=min(system.total, limit) if limit is not None else system.total,
        memory_available_bytes=headroom.size_bytes,
        memory_limiter=headroom.limiter,
        shm_total_bytes=shm.total if shm else None,
        shm_available_bytes=shm.free if shm else None,
        open_files_soft=soft,
        open_files_hard=hard,
    )


def affinity_cpus() -> int:
    """CPUs that this process may be scheduled on; all of them on systems that do not say (macOS)."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1
