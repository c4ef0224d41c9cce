"""A piece of read-only memory that processes of one user on one node share."""

from __future__ import annotations

import mmap
import os
import secrets
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._base.os_errors import from_os_error
from headrace.datasets.shared.column import Column
from headrace.datasets.shared.format import LEAST_BYTES, ArrayPlace, Header, read_header, write_block
from headrace.datasets.shared.memory import create_memory, memory_works, seal_memory
from headrace.datasets.shared.packed import Packed
from headrace.datasets.shared.place import FilePlace, MemoryPlace, Place, duplicate_for_child
from headrace.datasets.shared.private_file import create_file, open_file
from headrace.datasets.shared.read import read_column
from headrace.errors import StorageError

BLOCKS: weakref.WeakValueDictionary[bytes, Block] = weakref.WeakValueDictionary()
"""What this process has mapped, by token: a block is mapped once, however many lists look at it."""


class Block:
    """A mapped block. Its memory is given back when no process has a list or an array over it any more.

    Args:
        fd: The block, opened for reading; from here on it belongs to this object.
        path: The file it lies in; None for memory without a name.
        owner: Whether the file is to be removed with this object.

    Raises:
        OSError: It cannot be mapped, or is no block.
    """

    def __init__(self, fd: int, path: str | None, *, owner: bool = False) -> None:
        self.fd = fd
        self.path = path
        self.release = weakref.finalize(self, release, fd, path if owner else None, os.getpid())
        try:
            self.view, self.header = map_block(fd)
        except OSError:
            self.release()
            raise
        self.column: Column = read_column(self.header.schema, BlockArrays(self))
        BLOCKS[self.header.token] = self

    @property
    def size_bytes(self) -> int:
        """Size of the block, once, however many processes have mapped it."""
        return self.view.nbytes

    def place(self) -> Place:
        """Where other processes find it; in the words of the process that asks, which may be a forked child."""
        return MemoryPlace(os.getpid(), self.fd) if self.path is None else FilePlace(self.path)

    def __reduce__(self) -> tuple[Any, ...]:
        return attach_block, (self.header.token, self.place(), duplicate_for_child(self.fd))


def map_block(fd: int) -> tuple[memoryview, Header]:
    """The bytes of a block and what it says of itself. Raises `OSError`."""
    if os.fstat(fd).st_size < LEAST_BYTES:
        raise PermissionError("what is found there is no block")
    view = memoryview(mmap.mmap(fd, 0, access=mmap.ACCESS_READ))
    return view, read_header(view)


class BlockArrays:
    """The arrays of a block, in order."""

    def __init__(self, block: Block) -> None:
        self.block = block
        self.following = iter(block.header.arrays)
        self.private: memoryview | None = None

    def take(self) -> npt.NDArray[Any]:
        """The next array, read-only."""
        return array_at(self.block.view, next(self.following))

    def take_private(self) -> npt.NDArray[Any]:
        """The next array, in a mapping whose pages become this process's own when it writes to them."""
        if self.private is None:
            self.private = memoryview(mmap.mmap(self.block.fd, 0, access=mmap.ACCESS_COPY))
        return array_at(self.private, next(self.following))


def array_at(view: memoryview, place: ArrayPlace) -> npt.NDArray[Any]:
    """An array of a block."""
    return np.ndarray(place.shape, dtype=place.dtype, buffer=view, offset=place.offset)


def create_block(packed: Packed, *, named: bool | None = None) -> Block:
    """Writes packed items into a block of their own; `packed` is used up.

    Args:
        packed: What to write.
        named: Whether it lies in a file. None: only where the system has no memory without a name.

    Raises:
        StorageError: No memory or space for it.
    """
    named = not memory_works() if named is None else named
    try:
        return _create_file(packed) if named else _create_memory(packed)
    except OSError as error:
        raise from_os_error(error, "shared memory cannot be made", "shared memory") from error


def _create_memory(packed: Packed) -> Block:
    fd = create_memory()
    try:
        write_block(fd, packed, secrets.token_bytes(16))
        return Block(seal_memory(fd), None)
    finally:
        os.close(fd)


def _create_file(packed: Packed) -> Block:
    fd, path = create_file()
    try:
        write_block(fd, packed, secrets.token_bytes(16))
        return Block(open_file(path), path, owner=True)
    except BaseException:
        Path(path).unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)


def attach_block(token: bytes, place: Place, inherited: Any = None) -> Block:
    """The block that another process has made, mapped into this one.

    Args:
        token: Which block it has to be.
        place: Where it was when it was sent.
        inherited: A descriptor that multiprocessing has handed over.

    Raises:
        StorageError: It is gone, or another one is there.
    """
    known = BLOCKS.get(token)
    if known is not None:
        if inherited is not None and (spare := inherited.detach()) != known.fd:
            os.close(spare)
        return known
    path = place.path if isinstance(place, FilePlace) else None
    try:
        block = Block(place.open() if inherited is None else adopted(inherited.detach()), path)
        if block.header.token != token:
            raise PermissionError("another block is found there by now")
    except OSError as error:
        raise StorageError(
            "a list in shared memory is gone, or out of reach",
            got=str(error),
            accepted="a list that its maker, a process of this user on this node, still holds",
            remedy="Keep the list, or the dataset it belongs to, until the process that it is sent to has it",
            **({"process": place.process} if isinstance(place, MemoryPlace) else {"path": place.path}),
        ) from error
    return block


def adopted(fd: int) -> int:
    """A descriptor that came with the start of this process, and shall not go on to processes that it starts."""
    os.set_inheritable(fd, False)  # noqa: FBT003 - has no keywords
    return fd


def release(fd: int, path: str | None, process: int) -> None:
    """Closes a block; the process that made its file, and no forked child of it, removes the file."""
    os.close(fd)
    if path is not None and os.getpid() == process:
        Path(path).unlink(missing_ok=True)
