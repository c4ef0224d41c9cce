"""Keyed pseudo-random permutations of [0, size), one or many at once, computed at any position.

Small ones are stored: the order of the hashed indices. Large ones are never stored: an alternating Feistel network
permutes the next power of two, and a value that falls outside of [0, size) is sent through again until it falls
inside, which leaves a permutation of [0, size). The power of two is less than twice the size, so a position takes
two passes at most on average.

Sources: Luby and Rackoff 1988, "How to construct pseudorandom permutations from pseudorandom functions" (the
network); Black and Rogaway 2002, "Ciphers with arbitrary finite domains" (cycle walking, and sorting hashed keys for
small domains); Patarin 2001, "Generic attacks on Feistel schemes" (what few rounds give away); Mitchell, Stokes,
Frank and Holmes 2022, "Bandwidth-optimal random shuffling for GPUs" (both constructions for shuffling).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from headrace._base.hashing import MIX_1, MIX_2, fold, to_u64
from headrace.contracts import I64, U64
from headrace.errors import OrderError

STORED_BELOW = 1 << 10
"""Permutations smaller than this are stored. The fewer elements, the more rounds a network needs to hide that it is
one; and a sort costs the whole permutation however few positions are asked for, so it is no way for large ones."""

LARGEST_SIZE = 1 << 62
"""Sizes above this do not fit the arithmetic in int64."""

NUM_ROUNDS = 10
"""Rounds of the network. Four are enough in theory, and pass tests of neighbours, runs and places where there are many
elements. But Patarin's pairs tell four from chance in a single permutation of 65,536 elements, six in some hundred of
1,024 and eight in 30,000 of 2,048; ten they do not."""

BLOCK = 1 << 15
"""Positions that are computed together: arrays that stay in the processor's cache take half the time."""


class Permutation(Protocol):
    """A bijection of [0, size), or several of the same size."""

    @property
    def size(self) -> int:
        """Number of elements."""

    def at(self, positions: I64, which: I64 | int = 0) -> I64:
        """Elements at these positions.

        Args:
            positions: In [0, size), shape (n,).
            which: Number of the permutation that each position belongs to, shape (n,), or of the one for all.

        Returns:
            Shape (n,), int64 in [0, size).
        """


class StoredPermutation:
    """The order of the hashed indices. No two hashes are equal, since hashing an index is a bijection."""

    def __init__(self, size: int, keys: U64) -> None:
        self.size = size
        hashes = fold(keys[:, None], np.arange(size, dtype=np.int64))
        self._elements = np.argsort(hashes, axis=1).astype(np.int64, copy=False)

    def at(self, positions: I64, which: I64 | int = 0) -> I64:
        """Elements at these positions."""
        elements: I64 = self._elements[which, positions]
        return elements


class FeistelPermutation:
    """A Feistel network over the next power of two, with cycle walking."""

    def __init__(self, size: int, keys: U64) -> None:
        self.size = size
        num_bits = max(2, (size - 1).bit_length())
        self._low_bits = np.uint64(num_bits // 2)
        self._high_bits = np.uint64(num_bits - num_bits // 2)
        self._round_keys = fold(keys, np.arange(NUM_ROUNDS, dtype=np.int64)[:, None])

    def at(self, positions: I64, which: I64 | int = 0) -> I64:
        """Elements at these positions."""
        elements = np.empty_like(positions)
        for first in range(0, len(positions), BLOCK):
            part = slice(first, first + BLOCK)
            elements[part] = self._walk(positions[part], which if isinstance(which, int) else which[part])
        return elements

    def _walk(self, positions: I64, which: I64 | int) -> U64:
        """Through the network, and again where the value lies outside."""
        round_keys = self._round_keys[:, which]
        values = self._network(positions.astype(np.uint64), round_keys)
        outside = np.flatnonzero(values >= np.uint64(self.size))
        while outside.size:
            walked = self._network(values[outside], round_keys if round_keys.ndim == 1 else round_keys[:, outside])
            values[outside] = walked
            outside = outside[walked >= np.uint64(self.size)]
        return values

    def _network(self, values: U64, round_keys: U64) -> U64:
        """One pass: each round changes one half by a hash of the other, the halves taking turns.

        Args:
            values: Shape (n,).
            round_keys: Shape (rounds,) or (rounds, n).
        """
        low = values & ((np.uint64(1) << self._low_bits) - np.uint64(1))
        high = values >> self._low_bits
        for first, second in zip(round_keys[::2], round_keys[1::2], strict=True):
            high ^= _hash_bits(low, first, self._high_bits)
            low ^= _hash_bits(high, second, self._low_bits)
        high <<= self._low_bits
        high |= low
        return high


def _hash_bits(half: U64, round_key: U64, num_bits: np.uint64) -> U64:
    """The highest bits of a keyed hash: multiply, fold the high half down, multiply."""
    mixed = half ^ round_key
    mixed *= MIX_1
    mixed ^= mixed >> np.uint64(32)
    mixed *= MIX_2
    mixed >>= np.uint64(64) - num_bits
    return mixed


def permutations(size: int, keys: U64) -> Permutation:
    """One permutation of [0, size) for each 64-bit key, shape (keys,): stored if they are small, computed if not.

    Raises:
        OrderError: `size` is negative or beyond 2^62.
    """
    if not 0 <= size <= LARGEST_SIZE:
        raise OrderError("No permutation of this size", got=size, accepted=f"0 to {LARGEST_SIZE}")
    return StoredPermutation(size, keys) if size < STORED_BELOW else FeistelPermutation(size, keys)


def permutation(size: int, key: int) -> Permutation:
    """The permutation of [0, size) with this 64-bit key.

    Raises:
        OrderError: `size` is negative or beyond 2^62.
    """
    return permutations(size, to_u64([key]))
