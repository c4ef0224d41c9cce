"""A job of several ranks in one process: each rank is a loader of its own, told where it stands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import headrace as hr

Batch = tuple[list[int], list[bool]]
"""Sample ids and validity of the rows of one batch, or of one global step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """How many ranks make which batches."""

    world_size: int = 1
    batch_size: int = 1
    accumulate: int = 1
    num_nodes: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the loaders."""

    @property
    def global_batch(self) -> int:
        return self.world_size * self.batch_size * self.accumulate

    def topology(self, rank: int) -> hr.Topology:
        """Nodes hold consecutive ranks, as evenly as they can."""
        firsts = [node * self.world_size // self.num_nodes for node in range(self.num_nodes + 1)]
        node = max(node for node in range(self.num_nodes) if firsts[node] <= rank)
        return hr.Topology(
            rank=rank,
            world_size=self.world_size,
            local_rank=rank - firsts[node],
            local_world_size=firsts[node + 1] - firsts[node],
            node=node,
            num_nodes=self.num_nodes,
        )

    def loader(self, dataset: Any, rank: int = 0) -> hr.DataLoader[Any]:
        return hr.DataLoader(
            dataset,
            self.batch_size,
            accumulate=self.accumulate,
            topology=self.topology(rank),
            extras=("index", "valid"),
            **self.options,
        )

    def loaders(self, dataset: Any) -> list[hr.DataLoader[Any]]:
        return [self.loader(dataset, rank) for rank in range(self.world_size)]

    def with_options(self, **options: Any) -> Job:
        return replace(self, options={**self.options, **options})

    def split(self, step: Batch, rank: int) -> list[Batch]:
        """The batches that a rank makes of a global step. Only a single rank gets short ones, or fewer."""
        ids, valid = step
        first = rank * self.batch_size * self.accumulate
        starts = [first + part * self.batch_size for part in range(self.accumulate)]
        parts = [(ids[start : start + self.batch_size], valid[start : start + self.batch_size]) for start in starts]
        return [part for part in parts if part[0]]

    def join(self, batches: Sequence[Sequence[Batch]]) -> list[Batch]:
        """The global steps that the batches of all ranks make."""
        num_batches = len(batches[0])
        assert {len(one) for one in batches} == {num_batches}, "ranks make different numbers of steps"
        return [
            chain([batch for rank in batches for batch in rank[first : first + self.accumulate]])
            for first in range(0, num_batches, self.accumulate)
        ]


def chain(batches: Sequence[Batch]) -> Batch:
    """Batches one after another."""
    return [one for ids, _ in batches for one in ids], [one for _, valid in batches for one in valid]


def valid_rows(batches: Sequence[Batch]) -> list[int]:
    """Ids of the valid rows, in order."""
    return [one for ids, valid in batches for one, good in zip(ids, valid, strict=True) if good]


def padded(steps: Sequence[Batch], job: Job, tail: str | None) -> list[Batch]:
    """The global steps of a run without padding as this job makes them: several ranks pad the last one."""
    if job.world_size == 1 and tail in (None, "keep"):
        return list(steps)
    full = []
    for ids, valid in steps:
        missing = job.global_batch - len(ids)
        full.append((ids + [ids[row % len(ids)] for row in range(missing)], valid + [False] * missing))
    return full
