"""The few values made last."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import islice
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class Recent(Generic[K, V]):
    """A function that keeps its last results.

    Safe from several threads without a lock: the dictionary is replaced, never changed, so that two threads that miss
    at once only make the same value twice.

    Args:
        make: The function; must give equal values for equal keys.
        num_kept: How many results are kept; the oldest goes first.
    """

    def __init__(self, make: Callable[[K], V], num_kept: int) -> None:
        self._make = make
        self._num_kept = num_kept
        self._values: dict[K, V] = {}

    def __call__(self, key: K) -> V:
        """The value of a key, made now unless it is kept."""
        values = self._values
        if key in values:
            return values[key]
        value = self._make(key)
        surplus = max(0, len(values) + 1 - self._num_kept)
        self._values = {**dict(islice(values.items(), surplus, None)), key: value}
        return value
