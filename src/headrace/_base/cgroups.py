"""Limits of the control groups (version 1 and 2) that this process is in.

Sources: the kernel's `Documentation/admin-guide/cgroup-v2.rst`, `cgroup-v1/memory.rst`, `scheduler/sched-bwc.rst`, and
`Documentation/filesystems/proc.rst` for the columns of `mountinfo`. A limit of any ancestor binds as well, so each
figure is the least one on the way up to the mount point.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

UNLIMITED_BYTES = 1 << 60
"""Version 1 says "no limit" as the largest multiple of the page size below 2^63."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """One mounted hierarchy of control groups."""

    version: int
    controllers: frozenset[str]
    """Controllers of a version 1 hierarchy; empty for version 2."""
    group: PurePosixPath
    """The control group that is seen at the mount point."""
    point: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The directory of one control group."""

    version: int
    path: Path

    def cpu_quota(self) -> float | None:
        """CPU seconds a second; None without a limit."""
        if self.version == 2:
            words = read_text(self.path / "cpu.max").split()
        else:
            words = [read_text(self.path / f"cpu.cfs_{name}_us").strip() for name in ("quota", "period")]
        quota, period = (to_int(word) for word in words) if len(words) == 2 else (None, None)
        return quota / period if quota and period and quota > 0 else None

    def memory_limit_bytes(self) -> int | None:
        """Memory that the group may hold; None without a limit."""
        limit = to_int(read_text(self.path / ("memory.max" if self.version == 2 else "memory.limit_in_bytes")))
        return limit if limit is not None and limit < UNLIMITED_BYTES else None

    def memory_headroom_bytes(self) -> int | None:
        """Bytes until the limit is reached; page cache counts as free, since the system drops it before it kills."""
        limit = self.memory_limit_bytes()
        used = to_int(read_text(self.path / ("memory.current" if self.version == 2 else "memory.usage_in_bytes")))
        if limit is None or used is None:
            return None
        prefix = "" if self.version == 2 else "total_"
        stat = dict(line.split(maxsplit=1) for line in read_text(self.path / "memory.stat").splitlines() if " " in line)
        cached = sum(to_int(stat.get(f"{prefix}{name}_file", "0")) or 0 for name in ("inactive", "active"))
        return max(0, min(limit, limit - used + cached))


@dataclass(frozen=True, slots=True, kw_only=True)
class ControlGroups:
    """This process's control groups that limit CPU time and memory, each with its ancestors."""

    cpu: Sequence[Group] = ()
    memory: Sequence[Group] = ()

    @classmethod
    def of_this_process(cls, root: Path = Path("/")) -> ControlGroups:
        """Finds them through `/proc/self`; none on systems without control groups."""
        mounts = list(read_mounts(root))
        return cls(cpu=tuple(find_groups("cpu", mounts, root)), memory=tuple(find_groups("memory", mounts, root)))

    def cpu_quota(self) -> float | None:
        """CPU seconds a second that are allowed; None without a limit."""
        return min((quota for group in self.cpu if (quota := group.cpu_quota()) is not None), default=None)

    def memory_limit_bytes(self) -> int | None:
        """The tightest memory limit; None without one."""
        limits = (group.memory_limit_bytes() for group in self.memory)
        return min((limit for limit in limits if limit is not None), default=None)

    def memory_headroom_bytes(self) -> int | None:
        """Bytes until the first limit is reached; None without one."""
        rooms = (group.memory_headroom_bytes() for group in self.memory)
        return min((room for room in rooms if room is not None), default=None)


def read_mounts(root: Path) -> Iterator[Mount]:
    """Hierarchies that `mountinfo` lists.

    Columns: id, parent, device, group, mount point, options, optional columns, "-", file system, source, super options
    (which name the controllers of a version 1 hierarchy).
    """
    for line in read_text(root / "proc/self/mountinfo").splitlines():
        left, _, right = line.partition(" - ")
        columns, system = left.split(), right.split()
        if len(columns) < 5 or len(system) < 3 or system[0] not in ("cgroup", "cgroup2"):
            continue
        version = 2 if system[0] == "cgroup2" else 1
        yield Mount(
            version=version,
            controllers=frozenset() if version == 2 else frozenset(system[2].split(",")),
            group=PurePosixPath(columns[3]),
            point=root / columns[4].lstrip("/"),
        )


def find_groups(controller: str, mounts: Sequence[Mount], root: Path) -> Iterator[Group]:
    """The groups of one controller, innermost first.

    Lines of `/proc/self/cgroup` are "id:controllers:group"; the controllers are empty for version 2.
    """
    for line in read_text(root / "proc/self/cgroup").splitlines():
        _, names, group = line.split(":", 2)
        for mount in mounts:
            serves = controller in mount.controllers if names else mount.version == 2
            if serves and (not names or controller in names.split(",")):
                yield from ancestors(mount, PurePosixPath(group))


def ancestors(mount: Mount, group: PurePosixPath) -> Iterator[Group]:
    """The group and its ancestors as far as the mount shows them.

    Inside a container the group may be named as the host sees it, and lie outside the mount: then the mount point
    itself is the innermost group that is seen.
    """
    inside = group.relative_to(mount.group) if group.is_relative_to(mount.group) else PurePosixPath()
    path = mount.point / inside
    if not path.is_dir():
        path = mount.point
    while path.is_dir():
        yield Group(version=mount.version, path=path)
        if path == mount.point:
            return
        path = path.parent


def read_text(path: Path) -> str:
    """The text of a file of the kernel; empty where it is not there or may not be read."""
    try:
        return path.read_text()
    except OSError:
        return ""


def to_int(text: str) -> int | None:
    """A whole number; None for "max" and for nothing."""
    try:
        return int(text)
    except ValueError:
        return None
