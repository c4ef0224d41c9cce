"""What a sampler of the user gives for a batch: plain numbers, or keys that only the dataset understands."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from headrace.contracts import I64
from headrace.errors import OptionError

PLAIN = {int}


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRows:
    """The rows of one batch of a sampler."""

    ids: I64
    """Sample numbers, shape (rows,)."""
    keys: list[Any] | None = None
    """What the dataset is asked for, one a row; None where that is the numbers."""


Reading: TypeAlias = Callable[[Iterable[Any], int], SampledRows]
"""The rows of a batch, given the batch and how many samples of the epoch lie before it."""


def read_keys(batch: Iterable[Any], position: int) -> SampledRows:
    """The rows of a batch for a dataset that is asked for samples: it gets the very objects that the sampler gives.

    Keys that are no numbers are numbered by their place in the epoch.

    Raises:
        OptionError: The batch is empty.
    """
    keys = checked(batch)
    numbers = numbers_of(keys)
    if numbers is None:
        return SampledRows(ids=np.arange(position, position + len(keys), dtype=np.int64), keys=keys)
    return SampledRows(ids=numbers, keys=None if set(map(type, keys)) == PLAIN else keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadNumbers:
    """The rows of a batch for a dataset that is read by the batch, which knows nothing but numbers."""

    num_samples: int

    def __call__(self, batch: Iterable[Any], position: int) -> SampledRows:
        """Numbers from 0; -1 is the last sample.

        Raises:
            OptionError: The batch is empty, or something in it is no number.
            IndexError: There is no such sample.
        """
        keys = checked(batch)
        numbers = numbers_of(keys)
        if numbers is None:
            raise OptionError(
                "a sampler gives something that is no sample number",
                got=repr(keys)[:80],
                accepted="integers, for a dataset of shards or files",
                remedy="Give numbers; for lists of numbers use batch_sampler=",
            )
        ids = np.where(numbers < 0, numbers + self.num_samples, numbers)
        lost = np.flatnonzero((ids < 0) | (ids >= self.num_samples))
        if len(lost):
            raise IndexError(f"sample {numbers[lost[0]]} is out of range: there are {self.num_samples:,}")
        return SampledRows(ids=ids)


def checked(batch: Iterable[Any]) -> list[Any]:
    """The keys of a batch.

    Raises:
        OptionError: There are none, or the batch is no collection.
    """
    try:
        keys = list(batch)
    except TypeError as error:
        raise OptionError(
            "a batch sampler gives something that is no list",
            got=repr(batch)[:80],
            accepted="lists of keys",
            remedy="Give single keys as sampler=",
        ) from error
    if not keys:
        raise OptionError("a batch sampler gives an empty batch", accepted="batches of one sample or more")
    return keys


def numbers_of(keys: list[Any]) -> I64 | None:
    """Integers of any kind as int64, shape (keys,); None where one of the keys is none, or a larger one."""
    try:
        return np.array([operator.index(key) for key in keys], dtype=np.int64)
    except (TypeError, OverflowError):
        return None
