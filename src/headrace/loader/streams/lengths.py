"""How many batches a rank delivers, as far as the dataset says."""

from __future__ import annotations

from typing import Any

from headrace.errors import OrderError
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.recognise import length_of

MOST_SHOWN = 64
"""Ranks whose steps an error names."""


def num_batches(num_samples: int, plan: StreamPlan) -> int:
    """Batches that torch counts for so many samples of one stream."""
    if plan.batch_size is None:
        return num_samples
    return num_samples // plan.batch_size if plan.drop_last else -(-num_samples // plan.batch_size)


def lengths_of_parts(dataset: Any, plan: StreamPlan) -> tuple[tuple[int, ...], ...] | None:
    """Samples of each stream of each rank, shape (ranks, streams); None where parts do not say."""
    if not plan.splits:
        return None
    found = []
    for rank in range(plan.world_size):
        lengths = []
        for stream in range(plan.num_streams):
            part = dataset.shard(index=plan.part(stream, rank), count=plan.num_parts)
            length = length_of(part)
            if length is None:
                return None
            lengths.append(length)
        found.append(tuple(lengths))
    return tuple(found)


class Lengths:
    """What a dataset says of its length, asked when it is first needed.

    Args:
        dataset: Of the user.
        plan: The streams of the rank.
    """

    def __init__(self, dataset: Any, plan: StreamPlan) -> None:
        self.dataset = dataset
        self.plan = plan
        self.parts: tuple[tuple[int, ...], ...] | None = None
        self.is_known = False

    def of_parts(self) -> tuple[tuple[int, ...], ...] | None:
        """Samples of each stream of each rank, shape (ranks, streams); None where parts do not say."""
        if not self.is_known:
            self.parts, self.is_known = lengths_of_parts(self.dataset, self.plan), True
        return self.parts

    def even_steps(self) -> int | None:
        """Steps that all ranks make, where they can be made equal: those of the longest rank, or of the shortest.

        None for one rank, whose streams just come to their ends, and where nobody can say.

        Raises:
            OrderError: Some rank has nothing to repeat in the steps that others make.
        """
        parts = self.of_parts() if self.plan.world_size > 1 else None
        if parts is None:
            return None
        steps = [sum(num_batches(length, self.plan) for length in lengths) for lengths in parts]
        if self.plan.tail != "drop" and min(steps) == 0 < max(steps):
            raise OrderError(
                "a rank has no sample to repeat for the steps that others make",
                got=f"steps of the ranks: {', '.join(map(str, steps[:MOST_SHOWN]))}",
                accepted="samples for every rank",
                remedy='Use fewer ranks or workers, or tail="drop"',
            )
        return min(steps) if self.plan.tail == "drop" else max(steps)

    def num_steps(self) -> int:
        """Batches of an epoch on this rank.

        Raises:
            TypeError: The dataset has no length.
        """
        even = self.even_steps()
        if even is not None:
            return even
        parts = self.of_parts()
        if parts is not None:
            return sum(num_batches(length, self.plan) for length in parts[self.plan.rank])
        length = len(self.dataset)
        return num_batches(-(-length // self.plan.world_size) if self.plan.splits else length, self.plan)

    def num_samples(self) -> int:
        """Samples that this rank may deliver in an epoch without giving more than the dataset says.

        Raises:
            TypeError: The dataset has no length.
        """
        parts = self.of_parts()
        return sum(parts[self.plan.rank]) if parts is not None else len(self.dataset)
