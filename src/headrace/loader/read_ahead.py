"""In window mode the next window is read into the page cache while the current one is decoded."""

from __future__ import annotations

from headrace.contracts import Step
from headrace.datasets.shard_source import ShardSource
from headrace.order import Lookout, OrderSpec, Topology


class ReadAhead:
    """Asks storage for the windows that come into sight, once each, this rank's part of them."""

    def __init__(self, source: ShardSource, spec: OrderSpec, topology: Topology) -> None:
        self.source = source
        self.spec = spec
        self.topology = topology
        self.lookout: tuple[int, Lookout] | None = None

    def after(self, step: Step) -> None:
        """Called once the bytes of a step are fetched, on an I/O thread: what comes next can wait a little."""
        current = self.lookout
        if current is None or current[0] != step.epoch:
            current = self.lookout = (step.epoch, Lookout(self.spec, step.epoch, self.topology.rank))
        for stretches in current[1].ahead(step.index):
            self.source.read_ahead(stretches, self.topology.local_rank, self.topology.local_world_size)
