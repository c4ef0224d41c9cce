"""The dataset in the place where its streams are read: in this process as it is, in workers a copy."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from torch.utils.data import _utils

from headrace._base.hashing import fold
from headrace.loader.streams.data_pipes import set_up
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.snapshot import Snapshot
from headrace.recipes.generators import GENERATORS

SEED_BITS = 62
"""Seeds of workers fit into a signed 64-bit number, as torch's own do, with room for the number of the worker."""


class StreamSource(Protocol):
    """Gives the parts of a dataset that streams read."""

    def part(self, stream: int, epoch: int, dataset: Snapshot | None) -> Iterable[Any]:
        """What a stream of this rank reads in an epoch.

        Args:
            stream: Number of the stream.
            epoch: The epoch.
            dataset: The dataset as it is now, where it has changed meanwhile.
        """


def part_of(dataset: Any, plan: StreamPlan, stream: int, epoch: int) -> Iterable[Any]:
    """What a stream of this rank reads of a dataset, which is told the epoch where it wants to know."""
    if callable(getattr(dataset, "set_epoch", None)):
        dataset.set_epoch(epoch)
    if not plan.splits:
        return set_up(dataset, plan, stream, epoch)  # type: ignore[no-any-return]
    return dataset.shard(index=plan.part(stream), count=plan.num_parts)  # type: ignore[no-any-return]


class DatasetHere:
    """The dataset of the user itself; nothing is seeded, and nobody is told of workers."""

    def __init__(self, dataset: Any, plan: StreamPlan) -> None:
        self.dataset = dataset
        self.plan = plan

    def part(self, stream: int, epoch: int, dataset: Snapshot | None) -> Iterable[Any]:
        """What a stream reads."""
        return part_of(self.dataset, self.plan, stream, epoch)


class DatasetInWorker:
    """A copy of the dataset in a worker process, in surroundings as torch makes them for it.

    A worker lives longer than an epoch. Unless it is to be persistent, each epoch finds it as if it were new: with a
    fresh copy of the dataset as it is in the trainer, seeded, and `worker_init_fn` called.

    Args:
        dataset: As it was when the workers were started.
        plan: The streams of the rank, one for each worker.
        worker_init_fn: Of the user.
        persistent: Whether the worker keeps its copy.
        seeds_batches: Whether global generators follow the batches.
    """

    def __init__(
        self,
        dataset: Snapshot,
        plan: StreamPlan,
        worker_init_fn: Callable[[int], Any] | None,
        *,
        persistent: bool,
        seeds_batches: bool,
    ) -> None:
        self.snapshot = dataset
        self.plan = plan
        self.worker_init_fn = worker_init_fn
        self.persistent = persistent
        self.seeds_batches = seeds_batches
        self.copy: Any = None
        self.is_new = True

    def part(self, stream: int, epoch: int, dataset: Snapshot | None) -> Iterable[Any]:
        """What the stream of this worker reads."""
        seed = (int(fold(self.plan.seed, epoch, self.plan.rank)) & ((1 << SEED_BITS) - 1)) + stream
        GENERATORS.follow_samples = self.seeds_batches
        GENERATORS.seed(seed)
        renews = self.is_new or not self.persistent
        if renews:
            self.copy = None  # first: two copies need not be there at once
            self.copy = (dataset or self.snapshot).load()
        info = {"id": stream, "num_workers": self.plan.num_streams, "seed": seed, "dataset": self.copy}
        _utils.worker._worker_info = _utils.worker.WorkerInfo(**info)  # noqa: SLF001 - torch has no other way to say it
        if renews and self.worker_init_fn is not None:
            self.worker_init_fn(stream)
        self.is_new = False
        return part_of(self.copy, self.plan, stream, epoch)
