"""Pieces of aligned memory, in sizes that batches of almost the same size share."""

from __future__ import annotations

import contextlib
import functools
import mmap
from typing import Any, Protocol

import numpy as np

from headrace.engine.refusals import no_memory

ALIGNMENT_BYTES = 64
"""A cache line, and the widest vector register."""
PAGES_FROM_BYTES = 256 << 10
"""From here on a block has pages of its own, which go back to the system at once when it is dropped."""
HUGE_PAGES_FROM_BYTES = 2 << 20
"""From here on huge pages are asked for. What does not fill one lies on ordinary pages, so nothing is rounded up: the
first writing of 3.4 MB takes 0.5 ms instead of 1.1."""
CLASSES_PER_DOUBLING = 8
"""Size classes between a power of two and the next: at most an eighth of a block is wasted."""
SMALLEST_CLASS_BYTES = 4096


class Memory(Protocol):
    """A piece of memory that is leased again and again."""

    address: int
    """Of its first byte that may be used."""
    class_bytes: int
    """Size, one that `size_class` gives."""
    returned_at: int
    """When it came back last, counted in leases of its pool."""


class Block:
    """Memory of one size class. Dropping the last reference frees it.

    Args:
        class_bytes: Size, one that `size_class` gives.

    Raises:
        MemoryBudgetError: The system gives none.
    """

    __slots__ = ("address", "class_bytes", "memory", "returned_at")

    def __init__(self, class_bytes: int) -> None:
        self.class_bytes = class_bytes
        try:
            self.memory: Any = map_pages(class_bytes) if class_bytes >= PAGES_FROM_BYTES else None
            if self.memory is None:
                self.memory = np.empty(class_bytes + ALIGNMENT_BYTES, dtype=np.uint8)
        except (OSError, MemoryError) as error:
            raise no_memory(error, "a batch", class_bytes) from error
        start: int = np.frombuffer(self.memory, dtype=np.uint8).ctypes.data
        self.address = -(-start // ALIGNMENT_BYTES) * ALIGNMENT_BYTES
        self.returned_at = 0


def size_class(size_bytes: int) -> int:
    """The least class that holds this many bytes: `m * 2^e` with 8 <= m <= 16."""
    if size_bytes <= SMALLEST_CLASS_BYTES:
        return SMALLEST_CLASS_BYTES
    step = class_step(size_bytes)
    return -(-size_bytes // step) * step


def class_step(size_bytes: int) -> int:
    """Distance of the class that holds this many bytes from the class below it."""
    return 1 << ((size_bytes - 1).bit_length() - 1) >> (CLASSES_PER_DOUBLING.bit_length() - 1)


@functools.lru_cache(maxsize=256)
def near_classes(class_bytes: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The classes below this one down to half of it, and those from this one to its double; the nearest come first.

    The encoded bytes of a batch differ by less than that: arenas of 64 photographs had 2.6 to 4.7 MB.
    """
    smaller, larger = [class_bytes], [class_bytes]
    for _ in range(CLASSES_PER_DOUBLING):
        larger.append(size_class(larger[-1] + 1))
        smaller.append(max(SMALLEST_CLASS_BYTES, smaller[-1] - class_step(smaller[-1])))
    return tuple(dict.fromkeys(near for near in smaller if near < class_bytes)), tuple(larger)


def map_pages(size_bytes: int) -> mmap.mmap:
    """Private pages, zeroed by the system when they are first touched; huge ones where the system has them."""
    pages = mmap.mmap(-1, size_bytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    if size_bytes >= HUGE_PAGES_FROM_BYTES and hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):  # a kernel built without them: ordinary pages do
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages
