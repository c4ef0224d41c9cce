"""The work of an engine, pickled once into shared memory for all of its workers.

Arrays and tensors of the work are not read at all: each worker maps them, privately. So a dataset in memory exists
once, whatever the number of workers, and yet a page that a worker writes to is its own from there on. What lies in a
mapped file, or in memory that the user shares between processes, is not copied either: workers map the very same.
"""

from __future__ import annotations

import mmap
import os
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace.contracts import U8
from headrace.engine.processes.mapped_files import MappedFile, mapped_files
from headrace.engine.processes.parcels import PROTOCOL, aligned_starts
from headrace.engine.processes.work_pickler import pickled_work


@dataclass(frozen=True, slots=True, kw_only=True)
class Contents:
    """What a file of a work holds. Lies at its end, and may be long: a dataset can have a buffer for each sample."""

    argv: tuple[str, ...]
    """The trainer's, which is too long for a command line where it names many files."""
    starts: tuple[int, ...]
    """Offset of each piece, the pickle first, then its buffers; and the end of the last one."""
    sizes: tuple[int, ...]
    """Of each piece; 0 where it lies elsewhere."""
    elsewhere: dict[int, tuple[MappedFile, int, int]]
    """By the number of a piece: the file in which it lies, the piece's first byte there, and its size."""


def write_work(fd: int, work: Any, argv: Sequence[str]) -> int:
    """Writes a work to an empty file, and tells at which offset its contents are told.

    Raises:
        Exception: Whatever the work's own pickling raises.
    """
    buffers: list[pickle.PickleBuffer] = []
    body = pickled_work(work, buffers.append)
    pieces = [np.frombuffer(piece, dtype=np.uint8) for piece in (body, *(buffer.raw() for buffer in buffers))]
    elsewhere = mapped_elsewhere(pieces)
    for number in elsewhere:
        pieces[number] = np.empty(0, dtype=np.uint8)
    sizes = [piece.nbytes for piece in pieces]
    starts = aligned_starts(sizes)
    told = Contents(argv=tuple(argv), starts=tuple(starts), sizes=tuple(sizes), elsewhere=elsewhere)
    contents = pickle.dumps(told, protocol=PROTOCOL)
    pieces.append(np.frombuffer(contents, dtype=np.uint8))
    os.ftruncate(fd, starts[-1] + len(contents))
    memory = mapped(fd, mmap.MAP_SHARED)
    for piece, start in zip(pieces, starts, strict=True):
        memory[start : start + piece.nbytes] = piece
    return starts[-1]


def mapped_elsewhere(pieces: Sequence[U8]) -> dict[int, tuple[MappedFile, int, int]]:
    """Which pieces lie in files that workers can map; see `Contents.elsewhere`."""
    files, found = mapped_files(), {}
    for number, piece in enumerate(pieces):
        address: int = piece.__array_interface__["data"][0]
        file = files.find(address, piece.nbytes)
        if file is not None:
            found[number] = (file, address - file.address, piece.nbytes)
    return found


def read_contents(fd: int, start: int) -> Contents:
    """What the file holds."""
    contents: Contents = pickle.loads(mapped(fd, mmap.MAP_PRIVATE)[start:].data)  # noqa: S301 - of the same process
    return contents


def read_work(fd: int, contents: Contents) -> Any:
    """The work that was written; its arrays are views of private pages, or of the files in which they lie."""
    memory = mapped(fd, mmap.MAP_PRIVATE)
    places = zip(contents.starts, contents.sizes, strict=False)
    pieces = [memory[start : start + size] for start, size in places]
    files = {file: file.mapped() for file in {file for file, _, _ in contents.elsewhere.values()}}
    for number, (file, start, size) in contents.elsewhere.items():
        pieces[number] = files[file][start : start + size]
    body, *buffers = pieces
    return pickle.loads(body.data, buffers=buffers)  # noqa: S301 - from the process that started this one


def mapped(fd: int, flags: int) -> U8:
    """The whole file as memory, shape (bytes,)."""
    return np.frombuffer(mmap.mmap(fd, 0, flags=flags, prot=mmap.PROT_READ | mmap.PROT_WRITE), dtype=np.uint8)
