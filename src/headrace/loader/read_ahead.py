"""In window mode the next window is read into the page cache while the current one is decoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from headrace.contracts import Step
from headrace.datasets.shard_source import ShardSource
from headrace.order import Lookout, OrderSpec, Topology

SPREAD_STEPS = 32
"""What is asked for is spread over about this many steps: telling the system about a gigabyte takes some 15 ms even
where it is all in the page cache, and no single batch should wait for that, least of all the first one."""


class ReadAhead:
    """Asks storage for the windows that come into sight, once each, this rank's part of them."""

    def __init__(self, source: ShardSource, spec: OrderSpec, topology: Topology) -> None:
        self.source = source
        self.spec = spec
        self.topology = topology
        self.lookout: tuple[tuple[int, int], Lookout] | None = None
        self.wanted: deque[tuple[int, int]] = deque()

    def after(self, step: Step) -> None:
        """Called once the bytes of a step are fetched, on an I/O thread: asks for a little of what comes next."""
        for first_ids, counts in self.lookout_of(step).ahead(step.index):
            self.wanted.extend(zip(first_ids.tolist(), counts.tolist(), strict=True))
        for _ in range(-(-len(self.wanted) // SPREAD_STEPS)):
            try:
                first, count = self.wanted.popleft()
            except IndexError:
                return  # another I/O thread was quicker
            self.source.read_ahead(first, count, self.topology.local_rank, self.topology.local_world_size)

    def along(self, steps: Iterator[Step]) -> Iterator[Step]:
        """The steps themselves; asks with each that is pulled, once for all worker processes that fetch them."""
        for step in steps:
            self.after(step)
            yield step

    def lookout_of(self, step: Step) -> Lookout:
        """The lookout of a step's epoch; what was wanted of another one is not any more."""
        key = (step.epoch, step.start)
        current = self.lookout
        if current is None or current[0] != key:
            lookout = Lookout(self.spec, step.epoch, self.topology.rank, step.start, step.index)
            current = self.lookout = (key, lookout)
            self.wanted.clear()
        return current[1]
