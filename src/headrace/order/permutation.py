"""Keyed pseudo-random permutations of [0, size) that are computed at any position.

Small ones are stored: the order of the hashed indices. Large ones are never stored: an alternating Feistel network
permutes the next power of two, and a value that falls outside of [0, size) is sent through again until it falls
inside, which leaves a permutation of [0, size). The power of two is less than twice the size, so a position takes
two passes at most on average.

Sources: Luby and Rackoff 1988, "How to construct pseudorandom permutations from pseudorandom functions" (the
network); Black and Rogaway 2002, "Ciphers with arbitrary finite domains" (cycle walking, and sorting hashed keys for
small domains); Mitchell, Stokes, Frank and Holmes 2022, "Bandwidth-optimal random shuffling for GPUs" (both for
shuffling, and how many rounds are needed).
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from headrace._base.hashing import MIX_1, MIX_2, fold
from headrace.contracts import I64, U64
from headrace.errors import OrderError

STORED_BELOW = 1 << 16
"""Permutations smaller than this are stored as an array."""

LARGEST_SIZE = 1 << 62
"""Sizes above this do not fit the arithmetic in int64."""

NUM_ROUNDS = 8
"""Rounds of the network. With two, neighbours are far from random; from four on, the least for which there is a
proof, chi-squared tests of neighbours and runs see no difference from numpy's permutations. The rest is reserve."""


class Permutation(Protocol):
    """A bijection of [0, size)."""

    @property
    def size(self) -> int:
        """Number of elements."""

    def at(self, positions: I64) -> I64:
        """Elements at these positions, both of shape (n,), int64 in [0, size)."""


class StoredPermutation:
    """The order of the hashed indices. No two hashes are equal, since hashing an index is a bijection."""

    def __init__(self, size: int, key: int) -> None:
        self.size = size
        self._elements = np.argsort(fold(key, np.arange(size, dtype=np.int64))).astype(np.uint16)

    def at(self, positions: I64) -> I64:
        """Elements at these positions."""
        return self._elements[positions].astype(np.int64)


class FeistelPermutation:
    """A Feistel network over the next power of two, with cycle walking."""

    def __init__(self, size: int, key: int) -> None:
        self.size = size
        num_bits = max(2, (size - 1).bit_length())
        self._low_bits = np.uint64(num_bits // 2)
        self._high_bits = np.uint64(num_bits - num_bits // 2)
        self._round_keys = fold(key, np.arange(NUM_ROUNDS, dtype=np.int64))

    def at(self, positions: I64) -> I64:
        """Elements at these positions."""
        values = self._network(positions.astype(np.uint64))
        outside = np.flatnonzero(values >= np.uint64(self.size))
        while outside.size:
            walked = self._network(values[outside])
            values[outside] = walked
            outside = outside[walked >= np.uint64(self.size)]
        return values.astype(np.int64)

    def _network(self, values: U64) -> U64:
        """One pass: each round changes one half by a hash of the other, the halves taking turns."""
        low = values & ((np.uint64(1) << self._low_bits) - np.uint64(1))
        high = values >> self._low_bits
        for first, second in self._round_keys.reshape(-1, 2):
            high ^= _hash_bits(low, first, self._high_bits)
            low ^= _hash_bits(high, second, self._low_bits)
        high <<= self._low_bits
        high |= low
        return high


def _hash_bits(half: U64, round_key: np.uint64, num_bits: np.uint64) -> U64:
    """The highest bits of a keyed hash: multiply, fold the high half down, multiply."""
    mixed = half ^ round_key
    mixed *= MIX_1
    mixed ^= mixed >> np.uint64(32)
    mixed *= MIX_2
    mixed >>= np.uint64(64) - num_bits
    return mixed


def permutation(size: int, key: int) -> Permutation:
    """The permutation of [0, size) with this 64-bit key: stored if it is small, computed if not.

    Raises:
        OrderError: `size` is negative or beyond 2^62.
    """
    if not 0 <= size <= LARGEST_SIZE:
        raise OrderError("No permutation of this size", got=size, accepted=f"0 to {LARGEST_SIZE}")
    return StoredPermutation(size, key) if size < STORED_BELOW else FeistelPermutation(size, key)
