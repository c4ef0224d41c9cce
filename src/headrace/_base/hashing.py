"""Integer hashing and counter-based random numbers: the same on every machine and version of numpy and Python.

Native code makes the same keys of a batch and draws the same numbers from them (`native/random/`); property tests hold
them equal to `fold` and `philox4x32`.

Sources: the finaliser of SplitMix64 (Steele, Lea, Flood 2014, "Fast splittable pseudorandom number generators");
Philox4x32-10 (Salmon, Moraes, Dror, Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3").
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace import _native

U64Array = npt.NDArray[np.uint64]

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
MASK_64 = (1 << 64) - 1
MASK_32 = np.uint64(0xFFFFFFFF)
PHILOX_M0 = np.uint64(0xD2511F53)
PHILOX_M1 = np.uint64(0xCD9E8D57)
PHILOX_W0 = np.uint64(0x9E3779B9)
PHILOX_W1 = np.uint64(0xBB67AE85)


def to_u64(values: Any) -> U64Array:
    """Integers of any sign and size as an array of uint64, modulo 2^64."""
    if isinstance(values, int):
        return np.array(values & MASK_64, dtype=np.uint64)
    return np.asarray(values).astype(np.uint64)


def mix64(x: U64Array) -> U64Array:
    """A bijection of the 64-bit integers whose every output bit depends on every input bit."""
    x = x ^ (x >> np.uint64(30))
    x = x * MIX_1
    x = x ^ (x >> np.uint64(27))
    x = x * MIX_2
    return x ^ (x >> np.uint64(31))


def fold(*parts: Any) -> U64Array:
    """A 64-bit hash of a sequence of integers (scalars or arrays, broadcast against each other)."""
    with np.errstate(over="ignore"):
        state = np.zeros((), dtype=np.uint64)
        for part in parts:
            state = mix64((state ^ to_u64(part)) + GOLDEN)
    return state


def sample_keys(
    seed: int, epoch: int, ids: npt.NDArray[np.int64], view: int = 0, draws: npt.NDArray[np.int64] | None = None
) -> U64Array:
    """Keys of the random numbers of samples: `fold(seed, epoch, id, view, draw)`, in one native call for a batch.

    Args:
        seed: Seed of the loader.
        epoch: Epoch.
        ids: Sample ids, shape (rows,).
        view: Which of several views of a sample.
        draws: Which of several draws of a sample, shape (rows,); None: 0 for all.

    Returns:
        Shape (rows,).
    """
    return _native.sample_keys(epoch_state(seed, epoch), ids, view, draws)


@functools.lru_cache(maxsize=16)
def epoch_state(seed: int, epoch: int) -> int:
    """What the keys of all samples of an epoch have in common: a `fold` goes on from any of its states."""
    return int(fold(seed, epoch))


def philox4x32(keys: U64Array, block: int, op: int) -> npt.NDArray[np.uint64]:
    """Philox4x32-10 of counter (block, op, 0, 0): four 32-bit words a key, shape (*keys.shape, 4), held in uint64."""
    keys = np.asarray(keys, dtype=np.uint64)
    if keys.size == 1:  # transforms in Python draw for one sample at a time
        return np.array(philox_words(int(keys.flat[0]), block, op), dtype=np.uint64).reshape(*keys.shape, 4)
    k0, k1 = keys & MASK_32, keys >> np.uint64(32)
    c0 = np.full(keys.shape, block, dtype=np.uint64)
    c1 = np.full(keys.shape, op, dtype=np.uint64)
    c2 = np.zeros(keys.shape, dtype=np.uint64)
    c3 = np.zeros(keys.shape, dtype=np.uint64)
    for _ in range(10):
        p0, p1 = PHILOX_M0 * c0, PHILOX_M1 * c2
        c0, c1, c2, c3 = (p1 >> np.uint64(32)) ^ c1 ^ k0, p1 & MASK_32, (p0 >> np.uint64(32)) ^ c3 ^ k1, p0 & MASK_32
        k0, k1 = (k0 + PHILOX_W0) & MASK_32, (k1 + PHILOX_W1) & MASK_32
    return np.stack([c0, c1, c2, c3], axis=-1)


def philox_words(key: int, block: int, op: int) -> tuple[int, int, int, int]:
    """The same for one key, in Python's integers: 3 us against 61 us for arrays of one element."""
    m0, m1, w0, w1 = int(PHILOX_M0), int(PHILOX_M1), int(PHILOX_W0), int(PHILOX_W1)
    mask = int(MASK_32)
    k0, k1 = key & mask, key >> 32
    c0, c1, c2, c3 = block, op, 0, 0
    for _ in range(10):
        p0, p1 = m0 * c0, m1 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & mask, (p0 >> 32) ^ c3 ^ k1, p0 & mask
        k0, k1 = (k0 + w0) & mask, (k1 + w1) & mask
    return c0, c1, c2, c3


def uniform(keys: U64Array, op: int, index: int) -> npt.NDArray[np.float64]:
    """Uniform number `index` of the op at position `op` for every key: float64 in [0, 1), multiples of 2^-53."""
    words = philox4x32(keys, index >> 1, op)
    first, second = (words[..., 0], words[..., 1]) if index % 2 == 0 else (words[..., 2], words[..., 3])
    high, low = first >> np.uint64(5), second >> np.uint64(6)
    return (high.astype(np.float64) * 67108864.0 + low.astype(np.float64)) * (1.0 / 9007199254740992.0)
