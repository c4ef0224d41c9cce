"""How an index knows the shard that it describes."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass

import numpy as np
import xxhash

from headrace import _native
from headrace._base.os_errors import storage_error
from headrace.contracts import U64
from headrace.errors import TruncatedShardError

BLOCK = 512
NUM_SPREAD = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """Size and some header blocks of a shard, and where and when it was last changed."""

    size_bytes: int
    headers: str
    """xxh3 of the first, the last and 16 spread header blocks."""
    mtime_ns: int | None = None
    """Time of the last change; None in an index that was not made by looking at the shard in its place."""
    place: str | None = None
    """Hash of machine, path and inode. Copying and downloading change it, and then the time says nothing."""


def stamp_of(fd: int, path: str, offsets: U64) -> Stamp:
    """The stamp of an open shard whose members' data begins at `offsets` (any order)."""
    facts = os.fstat(fd)
    return Stamp(
        size_bytes=facts.st_size,
        headers=headers_hash(fd, path, facts.st_size, offsets),
        mtime_ns=facts.st_mtime_ns,
        place=place_of(path, facts.st_ino),
    )


def place_of(path: str, inode: int) -> str:
    """Hash of where a file lies, on which machine, and of its inode."""
    return xxhash.xxh3_64_hexdigest(os.fsencode(f"{socket.gethostname()}\0{os.path.realpath(path)}\0{inode}"))


def headers_hash(fd: int, path: str, size_bytes: int, offsets: U64) -> str:
    """xxh3 of the shard's first block, and of the header blocks before 16 spread ones of these offsets and the last."""
    starts = np.zeros(1, dtype=np.uint64)
    if len(offsets):
        positions = np.linspace(0, len(offsets) - 1, NUM_SPREAD).astype(np.int64)
        chosen = np.concatenate([offsets[positions], offsets.max(keepdims=True)])
        starts = np.concatenate([starts, chosen - np.uint64(BLOCK)])
    blocks = np.zeros((len(starts), BLOCK), dtype=np.uint8)  # a file may be shorter than a block
    addresses = np.uint64(blocks.ctypes.data) + np.arange(len(starts), dtype=np.uint64) * np.uint64(BLOCK)
    sizes = np.full(len(starts), min(BLOCK, size_bytes), dtype=np.uint64)
    status = _native.read_ranges(np.full(len(starts), fd, dtype=np.int32), starts, sizes, addresses)
    if (status < 0).any():
        raise TruncatedShardError("the shard became shorter while it was read", shard=path, offset=size_bytes)
    if status.any():
        raise storage_error(int(status.max()), "a shard cannot be read", path)
    return xxhash.xxh3_64_hexdigest(blocks.tobytes())


def is_fresh(stamp: Stamp, fd: int, path: str, offsets: U64) -> bool:
    """Whether an open shard is the one that the stamp was taken of."""
    facts = os.fstat(fd)
    if facts.st_size != stamp.size_bytes:
        return False
    if (
        stamp.mtime_ns is not None
        and stamp.place == place_of(path, facts.st_ino)
        and stamp.mtime_ns != facts.st_mtime_ns
    ):
        return False
    if len(offsets) and int(offsets.min()) < BLOCK:
        return False
    return headers_hash(fd, path, facts.st_size, offsets) == stamp.headers
