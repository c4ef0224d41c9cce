"""The random numbers of one sample, at hand for whatever runs inside its transforms.

A context variable carries the sample's key, so that threads (and asyncio tasks) that transform different samples never
see each other's. Torch's, Python's and numpy's global generators are left alone in the process of the user: a transform
that uses them there draws what it would draw anywhere else, and its draws depend on which thread came first. In worker
processes they follow the samples (see `generators.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from contextvars import ContextVar, Token
from typing import Any, Protocol, Self

import numpy as np

from headrace.errors import HeadraceError
from headrace.recipes.generators import GENERATORS


class SampleRandomness:
    """The key of the sample that is being transformed, and its generator once somebody asked for it.

    Entered around every single sample: so it is a class with slots, at a third of the cost of a generator function.
    """

    __slots__ = ("generator", "key", "token")

    def __init__(self, key: int) -> None:
        self.key = key
        self.generator: np.random.Generator | None = None

    def __enter__(self) -> None:
        if GENERATORS.follow_samples:
            GENERATORS.seed(self.key)
        self.token = CURRENT.set(self)

    def __exit__(self, *_: object) -> None:
        CURRENT.reset(self.token)

    def rng(self) -> np.random.Generator:
        """The sample's generator."""
        if self.generator is None:
            self.generator = generator_of(self.key)
        return self.generator


class RowsRandomness:
    """The same for all rows of a batch, made one after another: nothing is done for a row that asks for nothing.

    The present sample is the one after those that are made.

    Args:
        draw_keys: Gives the keys of the rows, when the first one is needed.
        made: The samples so far; grows by one with each row.
    """

    __slots__ = ("draw_keys", "generator", "keys", "made", "row", "token")

    def __init__(self, draw_keys: Callable[[], Sequence[int]], made: Sized) -> None:
        self.draw_keys = draw_keys
        self.made = made
        self.keys: Sequence[int] | None = None
        self.row = -1
        self.generator: np.random.Generator | None = None

    def __enter__(self) -> Self:
        self.token: Token[Randomness] = CURRENT.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        CURRENT.reset(self.token)

    @property
    def key(self) -> int:
        """Key of the present sample."""
        if self.keys is None:
            self.keys = self.draw_keys()
        return self.keys[len(self.made)]

    def rng(self) -> np.random.Generator:
        """The present sample's generator."""
        row = len(self.made)
        if self.generator is None or self.row != row:
            self.row, self.generator = row, generator_of(self.key)
        return self.generator

    def along(self, ids: Sequence[Any]) -> Iterator[Any]:
        """The ids of the rows; where global generators follow the samples, they do so at each one's turn."""
        return self._seeding(ids) if GENERATORS.follow_samples else iter(ids)

    def _seeding(self, ids: Sequence[Any]) -> Iterator[Any]:
        for number in ids:
            GENERATORS.seed(self.key)
            yield number


class Randomness(Protocol):
    """Of the sample that is being transformed."""

    @property
    def key(self) -> int:
        """Its key."""

    def rng(self) -> np.random.Generator:
        """Its generator, which goes on from where it was."""


CURRENT: ContextVar[Randomness] = ContextVar("headrace_sample")


def generator_of(key: int) -> np.random.Generator:
    """A fresh generator of a sample."""
    return np.random.Generator(np.random.Philox(key=key))


def sample_randomness(key: int) -> SampleRandomness:
    """Makes `key` the sample key of everything called inside a `with` block."""
    return SampleRandomness(key)


def sample_key() -> int:
    """Key of the sample that is being transformed.

    Raises:
        HeadraceError: No sample is being transformed here.
    """
    return current().key


def rng() -> np.random.Generator:
    """The random generator of the sample that is being transformed.

    Its numbers depend on nothing but (seed, epoch, sample, view, draw): not on the engine, the number of workers or
    the order in which samples are made. Every call for one sample gives the same generator, which goes on from where
    it was.

    Returns:
        A `numpy.random.Generator` over Philox (Salmon et al. 2011) keyed by the sample.

    Raises:
        HeadraceError: Called outside of a transform that headrace runs.
    """
    return current().rng()


def is_keyed() -> bool:
    """Whether a sample is being transformed here, so that `rng()` has numbers for it."""
    return CURRENT.get(None) is not None


def current() -> Randomness:
    """The randomness of the sample that is being transformed in this context."""
    try:
        return CURRENT.get()
    except LookupError:
        raise HeadraceError(
            "rng() was called where no sample is being transformed",
            accepted="calls from inside a transform that a headrace dataset or loader runs, on the same thread",
            remedy="Make a generator of your own (numpy.random.default_rng) outside of transforms.",
        ) from None
