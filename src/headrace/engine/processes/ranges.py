"""Pieces of a shared file, handed out by the process that owns it."""

from __future__ import annotations

import contextlib
import mmap
from collections import defaultdict
from typing import NamedTuple

from headrace.engine.processes.windows import SharedFile, Window, window_number, window_start

HEADER_BYTES = 64
"""In front of each range, and all zero while no other process looks at it. Each batch that goes out sets a byte, which
its receiver clears: two batches with the same array have two, so neither needs to count, which would take a lock. A
cache line, so that the data behind it is aligned to one."""
NOBODY = bytes(HEADER_BYTES)


class Range:
    """A piece of a shared file: the `Memory` of a slot pool."""

    __slots__ = ("address", "class_bytes", "offset", "returned_at", "window")

    def __init__(self, window: Window, offset: int, class_bytes: int) -> None:
        self.window = window
        self.offset = offset
        self.class_bytes = class_bytes
        self.address = window.address + offset - window.start + HEADER_BYTES
        self.returned_at = 0

    def marks(self) -> bytes:
        """The header."""
        start = self.offset - self.window.start
        return self.window.pages[start : start + HEADER_BYTES]

    def is_away(self) -> bool:
        """Whether another process looks at it."""
        return self.marks() != NOBODY

    def may_go(self) -> bool:
        """Whether it can be sent away once more."""
        return 0 in self.marks()

    def send_away(self) -> int:
        """Notes that another process is about to look at it, which takes the note back by the number of its mark."""
        mark = self.marks().index(0)
        self.window.pages[self.offset - self.window.start + mark] = 1
        return mark

    def call_back(self, mark: int) -> None:
        """Takes a note back."""
        self.window.pages[self.offset - self.window.start + mark] = 0


class Sent(NamedTuple):
    """A range that another process gets to see."""

    offset: int
    """In the file."""
    size_bytes: int
    """Of the data that is looked at."""
    mark: int
    """Of its header."""


class Ranges:
    """Finds room in a shared file. A range keeps its place and size for good; only the memory behind it comes and goes.

    Args:
        file: Written and made longer by this process alone.
    """

    def __init__(self, file: SharedFile) -> None:
        self.file = file
        self.end = 0
        self.unused: defaultdict[int, list[Range]] = defaultdict(list)

    def make(self, class_bytes: int) -> Range:
        """A range of this many bytes, header not counted; what it holds is undefined."""
        if self.unused[class_bytes]:
            return self.unused[class_bytes].pop()
        size_bytes = whole_pages(class_bytes + HEADER_BYTES)
        offset = first_fit(self.end, size_bytes)
        self.file.reach(offset)
        self.end = offset + size_bytes
        return Range(self.file.window(offset), offset, class_bytes)

    def give(self, unused: Range) -> None:
        """Takes a range back, with its memory."""
        self.unused[unused.class_bytes].append(unused)

    def discard(self, unused: Range) -> None:
        """Gives the memory of a range back to the system where it can be taken out of a file; keeps its place."""
        if hasattr(mmap, "MADV_REMOVE"):
            start = unused.offset - unused.window.start
            with contextlib.suppress(OSError):  # a file system that cannot: the memory stays for the next use
                unused.window.pages.madvise(mmap.MADV_REMOVE, start, whole_pages(unused.class_bytes + HEADER_BYTES))
        self.give(unused)


def first_fit(end: int, size_bytes: int) -> int:
    """The least offset from `end` on where this many bytes lie within one window."""
    number = window_number(end)
    while end + size_bytes > window_start(number + 1):
        number += 1
        end = window_start(number)
    return end


def whole_pages(size_bytes: int) -> int:
    """The size, rounded up to pages."""
    return -(-size_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
