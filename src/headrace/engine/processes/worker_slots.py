"""Batch memory as a worker process sees it: what it writes there, the consumer sees without a copy.

A range is free when two parties have let go of it. In the worker that is the last array over it, as in every slot pool.
The consumer's side are bytes in front of the range: the worker sets one before it sends a batch, the finaliser of the
consumer's lease clears it. So memory comes back without a message, a lock or a system call.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator
from typing import TypeAlias

from headrace.engine.blocks import Memory
from headrace.engine.processes.ranges import Range, Ranges, Sent
from headrace.engine.processes.windows import SharedFile
from headrace.engine.slots import SlotPool

LOOKS_PER_LEASE = 64
"""How many ranges at the consumer's are looked at with each lease. They come back about in the order in which they
went; a user who keeps a thousand batches must not have a thousand bytes read for each new one."""

Place: TypeAlias = tuple[Range, int]
"""A range, and an offset in it."""


class WorkerSlots(SlotPool):
    """A slot pool whose memory is a file that the consumer has mapped too. Used by one thread.

    Args:
        file: This worker's own.
        max_free_bytes: How much memory may lie unused; the longest unused goes first.
    """

    def __init__(self, file: SharedFile, *, max_free_bytes: int) -> None:
        super().__init__(max_free_bytes=max_free_bytes)
        self.ranges = Ranges(file)
        self.away: deque[Memory] = deque()
        self.known: dict[int, Range] = {}
        self.addresses: list[int] = []

    def fresh(self, class_bytes: int) -> Range:
        """A range that nobody has used yet."""
        made = self.ranges.make(class_bytes)
        if made.address not in self.known:
            self.known[made.address] = made
            self.addresses.insert(bisect_right(self.addresses, made.address), made.address)
        return made

    def discard(self, memory: Memory) -> None:
        """Gives memory back to the system."""
        self.ranges.discard(self.known[memory.address])

    def reusable(self) -> Iterator[Memory]:
        """What neither this process nor the consumer looks at any more."""
        self.away.extend(super().reusable())
        for _ in range(min(len(self.away), LOOKS_PER_LEASE)):
            memory = self.away.popleft()
            if self.known[memory.address].is_away():
                self.away.append(memory)
            else:
                yield memory

    def call_back(self, sent: Iterable[Sent]) -> None:
        """These were not sent after all."""
        for one in sent:
            Range(self.ranges.file.window(one.offset), one.offset, one.size_bytes).call_back(one.mark)

    def locate(self, address: int) -> Place | None:
        """The range that holds this address; None for memory of another kind, or on its way to too many already."""
        number = bisect_right(self.addresses, address) - 1
        if number < 0:
            return None
        found = self.known[self.addresses[number]]
        start = address - found.address
        return (found, start) if start < found.class_bytes and found.may_go() else None
