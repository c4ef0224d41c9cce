"""Memory that this process may still take, asked again and again while it works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import psutil

from headrace._base.cgroups import ControlGroups
from headrace._base.units import format_bytes
from headrace.errors import MemoryBudgetError

Limiter: TypeAlias = Literal["the machine", "the control group"]

ASK_EVERY_BYTES = 32 << 20
"""How much memory is taken between two looks: a look takes 0.1 to 0.2 ms, fresh pages of this size 8 ms."""
KEPT_FREE_BYTES = 16 << 20
"""What stays free, for all that nobody plans."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Headroom:
    """Memory that can still be taken, and who sets the limit."""

    size_bytes: int
    limiter: Limiter


class MemoryGuard:
    """Says no before the system has to: a process that is killed for want of memory cannot say anything.

    Safe from several threads; a race between two only moves the moment of a look.
    """

    def __init__(self) -> None:
        self.unseen_bytes = 0
        self.groups: ControlGroups | None = None

    def take(self, size_bytes: int, what: str) -> None:
        """Notes that memory is about to be taken, and looks now and then whether it is there.

        Raises:
            MemoryBudgetError: It is not.
        """
        self.unseen_bytes += size_bytes
        if self.unseen_bytes >= ASK_EVERY_BYTES:
            self.unseen_bytes = 0
            self.check(size_bytes, what)

    def check(self, size_bytes: int, what: str) -> None:
        """Looks whether so much memory is there.

        Raises:
            MemoryBudgetError: It is not.
        """
        if self.groups is None:
            self.groups = ControlGroups.of_this_process()
        there = read_headroom(self.groups)
        if size_bytes > there.size_bytes - KEPT_FREE_BYTES:
            raise MemoryBudgetError(
                f"{what} needs more memory than there is",
                got=format_bytes(size_bytes),
                accepted=f"{format_bytes(max(0, there.size_bytes - KEPT_FREE_BYTES))}, what {there.limiter} has left",
                remedy="Use smaller batches, fewer workers or a smaller memory_budget, or give the job more memory.",
            )


def read_headroom(groups: ControlGroups) -> Headroom:
    """Memory that can still be taken, now."""
    available, in_group = int(psutil.virtual_memory().available), groups.memory_headroom_bytes()
    if in_group is not None and in_group < available:
        return Headroom(size_bytes=in_group, limiter="the control group")
    return Headroom(size_bytes=available, limiter="the machine")
