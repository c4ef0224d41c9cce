"""Where a process stands among the processes of a job."""

from __future__ import annotations

from dataclasses import dataclass

from headrace.errors import OptionError


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A rank among the data-parallel ranks of a job.

    Several processes may have the same rank: those that work on the same batches together (tensor, context or
    pipeline parallel). What the processes of a node share is counted by `local_rank` and `local_world_size`.

    Raises:
        OptionError: A number that does not fit the others.
    """

    rank: int = 0
    """Rank, from 0."""
    world_size: int = 1
    """Number of ranks."""
    local_rank: int = 0
    """Place of this process among those of the job on the same node."""
    local_world_size: int = 1
    """Processes of the job on the node; more than there are ranks where several have the same rank."""
    node: int = 0
    """Node, from 0."""
    num_nodes: int = 1
    """Number of nodes."""

    def __post_init__(self) -> None:
        for position, size in (("rank", "world_size"), ("local_rank", "local_world_size"), ("node", "num_nodes")):
            self._check(position, size)
        if self.num_nodes > self.world_size:
            raise OptionError(
                "num_nodes is larger than world_size",
                got=f"num_nodes={self.num_nodes}, world_size={self.world_size}",
                accepted=f"1 to {self.world_size}: nodes on which different ranks lie",
            )

    def _check(self, position: str, size: str) -> None:
        """A position lies below its size, and both are integers."""
        at, num = getattr(self, position), getattr(self, size)
        if not isinstance(at, int) or not isinstance(num, int) or num < 1 or not 0 <= at < num:
            raise OptionError(
                f"{position} does not fit {size}",
                got=f"{position}={at!r}, {size}={num!r}",
                accepted=f"integers with 0 <= {position} < {size}",
            )
