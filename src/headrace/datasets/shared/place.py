"""Where a process finds a block that another one has made."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from headrace.datasets.shared.memory import open_memory
from headrace.datasets.shared.private_file import open_file


@dataclass(frozen=True, slots=True)
class MemoryPlace:
    """Memory that a process holds."""

    process: int
    number: int
    """The descriptor under which that process holds it."""

    def open(self) -> int:
        """A descriptor of our own. Raises `OSError`."""
        return open_memory(self.process, self.number)


@dataclass(frozen=True, slots=True)
class FilePlace:
    """A file."""

    path: str

    def open(self) -> int:
        """A descriptor of our own. Raises `OSError`."""
        return open_file(self.path)


Place: TypeAlias = MemoryPlace | FilePlace


def duplicate_for_child(fd: int) -> Any:
    """What hands a descriptor to the process that multiprocessing is starting right now; None at all other times.

    The child gets it even if the parent has let go of the block by the time the child opens it.
    """
    from multiprocessing import context, reduction

    return reduction.DupFd(fd) if context.get_spawning_popen() is not None else None
