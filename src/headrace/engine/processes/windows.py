"""A shared file that grows, mapped piece by piece, with the same pieces in every process.

Window `i` begins at `64 MiB * (2^i - 1)` and is `64 MiB * 2^i` long. So an offset alone tells where to look, nobody has
to be told of a new window, and a file of any size takes a handful of mappings (each costs a descriptor). The file is
sparse: what was never touched costs nothing.
"""

from __future__ import annotations

import contextlib
import mmap
import os

import numpy as np

from headrace.contracts import U8
from headrace.engine.refusals import no_memory

FIRST_WINDOW_BYTES = 64 << 20
WHAT = "what the trainer and its workers share"


class Window:
    """A piece of a shared file in this process. Whatever holds it, or its memory, keeps it mapped."""

    __slots__ = ("address", "memory", "pages", "start")

    def __init__(self, fd: int, number: int) -> None:
        self.start = window_start(number)
        try:
            self.pages = mmap.mmap(fd, window_bytes(number), flags=mmap.MAP_SHARED, offset=self.start)
        except OSError as error:
            raise no_memory(error, WHAT, window_bytes(number)) from error
        self.memory: U8 = np.frombuffer(self.pages, dtype=np.uint8)
        self.address: int = self.memory.__array_interface__["data"][0]


class SharedFile:
    """The windows that this process has of a file.

    Args:
        fd: Its descriptor; belongs to this object from here on.
    """

    def __init__(self, fd: int) -> None:
        self.fd = fd
        self.windows: dict[int, Window] = {}

    def window(self, offset: int) -> Window:
        """The window that holds this offset; the file must reach to its end.

        Raises:
            MemoryBudgetError: There is no address space for it.
        """
        number = window_number(offset)
        if number not in self.windows:
            self.windows[number] = Window(self.fd, number)
        return self.windows[number]

    def array(self, offset: int, size_bytes: int) -> U8:
        """Bytes of the file, none of which lies in a further window, shape (bytes,)."""
        window = self.window(offset)
        return window.memory[offset - window.start :][:size_bytes]

    def reach(self, offset: int) -> None:
        """Makes the file long enough for the window that holds this offset; its owner's business alone.

        Raises:
            MemoryBudgetError: Files must not be so long.
        """
        number = window_number(offset)
        if number not in self.windows:
            try:
                os.ftruncate(self.fd, window_start(number + 1))
            except OSError as error:
                raise no_memory(error, WHAT, window_bytes(number)) from error

    def close(self) -> None:
        """Opens no further window; those that are open stay for whoever looks at them. Idempotent."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)
        self.windows = {}

    def __del__(self) -> None:
        with contextlib.suppress(OSError):  # code of the user may have closed it
            self.close()


def window_number(offset: int) -> int:
    """Which window holds an offset."""
    return (offset // FIRST_WINDOW_BYTES + 1).bit_length() - 1


def window_start(number: int) -> int:
    """Offset of the first byte of a window."""
    return FIRST_WINDOW_BYTES * ((1 << number) - 1)


def window_bytes(number: int) -> int:
    """Length of a window."""
    return FIRST_WINDOW_BYTES << number
