"""A sampler of single keys as one of batches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any


class BatchedSampler:
    """So many keys a batch."""

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


class OneByOne:
    """Each key is a step of its own, for samples that are delivered one by one."""

    def __init__(self, sampler: Any) -> None:
        self.sampler = sampler

    def __len__(self) -> int:
        return len(self.sampler)

    def __iter__(self) -> Iterator[list[Any]]:
        for key in self.sampler:
            yield [key]
