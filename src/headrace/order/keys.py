"""Keys of the permutations that make an order: one 64-bit number for each use, seed, epoch, node and window."""

from __future__ import annotations

from headrace._base.hashing import fold
from headrace.contracts import I64, U64

FULL = 0x68722D66756C6C01
"""Use: the permutation of a whole dataset. (The constants only keep the uses apart.)"""
DEAL = 0x68722D6465616C02
"""Use: dealing the shards to the canonical nodes; no epoch enters."""
SHARDS = 0x68722D7368617203
"""Use: the order of a node's shards in one epoch."""
WINDOW = 0x68722D77696E6404
"""Use: the order of the samples in one window."""


def full_key(seed: int, epoch: int) -> int:
    """Key of the permutation of a whole dataset."""
    return int(fold(FULL, seed, epoch))


def deal_key(seed: int) -> int:
    """Key of the dealing of shards to canonical nodes."""
    return int(fold(DEAL, seed))


def shards_key(seed: int, epoch: int, node: int) -> int:
    """Key of the order of a canonical node's shards."""
    return int(fold(SHARDS, seed, epoch, node))


def window_keys(seed: int, epoch: int, node: int, windows: I64) -> U64:
    """Keys of windows of a canonical node, shape of `windows`."""
    return fold(WINDOW, seed, epoch, node, windows)
