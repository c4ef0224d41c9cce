"""Where the steps of an epoch come from: our own order, or a sampler of the user."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Protocol

import numpy as np

from headrace.contracts import I64, Step
from headrace.errors import OptionError
from headrace.order import EpochOrder, OrderSpec, Topology, open_epoch


class StepSource(Protocol):
    """Gives the steps that this rank makes in an epoch."""

    def num_steps(self, epoch: int) -> int:
        """Batches of a whole epoch on this rank."""

    def steps(self, epoch: int) -> Iterator[Step]:
        """The steps of an epoch, lazily."""


class OrderedSteps:
    """Steps of our own order."""

    def __init__(self, spec: OrderSpec, topology: Topology) -> None:
        self.spec = spec
        self.topology = topology
        self.opened: tuple[int, EpochOrder] | None = None

    def num_steps(self, epoch: int) -> int:
        """Batches of a whole epoch, the same on every rank."""
        return self._open(epoch).num_steps

    def steps(self, epoch: int) -> Iterator[Step]:
        """Steps from the first."""
        order = self._open(epoch)
        return (order.step(index, self.topology.rank) for index in range(order.num_steps))

    def _open(self, epoch: int) -> EpochOrder:
        if self.opened is None or self.opened[0] != epoch:
            self.opened = (epoch, open_epoch(self.spec, epoch))
        return self.opened[1]


class SampledSteps:
    """Steps of a user's `sampler` or `batch_sampler`, honoured as torch does."""

    def __init__(self, batches: Any) -> None:
        self.batches = batches

    def num_steps(self, epoch: int) -> int:
        """What the sampler says of its length."""
        return len(self.batches)

    def steps(self, epoch: int) -> Iterator[Step]:
        """Steps as the sampler draws them; an id that comes twice is augmented twice."""
        position = 0
        for index, batch in enumerate(self.batches):
            ids = ids_of(batch)
            draws = np.arange(position, position + len(ids), dtype=np.int64)
            yield Step(index=index, epoch=epoch, ids=ids, valid=np.ones(len(ids), dtype=np.bool_), draws=draws)
            position += len(ids)


def ids_of(batch: Any) -> I64:
    """The sample numbers of one batch of a sampler, shape (rows,).

    Raises:
        OptionError: It is no list of integers, or empty.
    """
    try:
        ids = np.array([operator.index(one) for one in batch], dtype=np.int64)
    except (TypeError, OverflowError) as error:
        raise OptionError(
            "a sampler gives something that is no sample number", got=repr(batch)[:80], accepted="integers"
        ) from error
    if len(ids) == 0:
        raise OptionError("a batch sampler gives an empty batch", accepted="batches of one sample or more")
    return ids


class BatchedSampler:
    """Batches from a sampler of single ids."""

    def __init__(self, sampler: Any, batch_size: int, *, drop_last: bool) -> None:
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __len__(self) -> int:
        num = len(self.sampler)
        return num // self.batch_size if self.drop_last else -(-num // self.batch_size)

    def __iter__(self) -> Iterator[list[Any]]:
        ids: Iterable[Any] = iter(self.sampler)
        while batch := list(islice(ids, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch
