"""The work of an engine, pickled once into shared memory for all of its workers.

Arrays and tensors of the work are not read at all: each worker maps them, privately. So a dataset in memory exists
once, whatever the number of workers, and yet a page that a worker writes to is its own from there on.
"""

from __future__ import annotations

import mmap
import os
import pickle
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.contracts import U8
from headrace.engine.processes.parcels import aligned_starts, pickled


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkLayout:
    """Where the pieces of a work lie in its file: the pickle first, then its buffers."""

    starts: tuple[int, ...]
    """Offset of each piece, and the end of the last one."""
    sizes: tuple[int, ...]


def write_work(fd: int, work: Any) -> WorkLayout:
    """Writes a work to an empty file.

    Raises:
        Exception: Whatever the work's own pickling raises.
    """
    buffers: list[pickle.PickleBuffer] = []
    body = pickled(work, buffers.append)
    pieces = [np.frombuffer(piece, dtype=np.uint8) for piece in (body, *(buffer.raw() for buffer in buffers))]
    sizes = [piece.nbytes for piece in pieces]
    starts = aligned_starts(sizes)
    os.ftruncate(fd, max(starts[-1], 1))
    memory = mapped(fd, mmap.MAP_SHARED)
    for piece, start in zip(pieces, starts, strict=False):
        memory[start : start + piece.nbytes] = piece
    return WorkLayout(starts=tuple(starts), sizes=tuple(sizes))


def read_work(fd: int, layout: WorkLayout) -> Any:
    """The work that was written; its arrays are views of private pages."""
    memory = mapped(fd, mmap.MAP_PRIVATE)
    body, *buffers = (memory[start : start + size] for start, size in zip(layout.starts, layout.sizes, strict=False))
    return pickle.loads(body.data, buffers=buffers)  # noqa: S301 - from the process that started this one


def mapped(fd: int, flags: int) -> U8:
    """The whole file as memory, shape (bytes,)."""
    return np.frombuffer(mmap.mmap(fd, 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE), dtype=np.uint8)
