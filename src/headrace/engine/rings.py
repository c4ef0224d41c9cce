"""The blocks of one size class."""

from __future__ import annotations

from collections import deque

from headrace.engine.blocks import Memory


class Ring:
    """How many blocks of a class there are, and which of them are free, the longest unused first."""

    __slots__ = ("free", "leased_at", "num_at_once", "num_blocks")

    def __init__(self) -> None:
        self.free: deque[Memory] = deque()
        self.num_blocks = 0
        self.num_at_once = 0
        """How many its users expect to be out at the same time."""
        self.leased_at = 0
        """When a block of it was last asked for, counted in leases of the pool."""

    def asked(self, num_at_once: int, now: int) -> None:
        """Notes that a block is asked for."""
        self.leased_at = now
        self.num_at_once = max(self.num_at_once, num_at_once)

    def is_stale(self, since: int) -> bool:
        """Whether a free block was not needed since then. What fills the ring is needed as long as the ring is."""
        if not self.free or self.free[0].returned_at >= since:
            return False
        return self.num_blocks > self.num_at_once or self.leased_at < since
