"""Batch memory that is leased: it goes back to its ring when nobody looks at it any more."""

from __future__ import annotations

import functools
import math
import threading
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._base.forks import renew_after_fork
from headrace.contracts import Recorder
from headrace.engine.blocks import CLASSES_PER_DOUBLING, SMALLEST_CLASS_BYTES, Block, size_class
from headrace.errors import OptionError

LEASE_FROM_BYTES = SMALLEST_CLASS_BYTES
"""Smaller arrays (labels, sizes) are cheaper from the allocator than from a ring."""
LARGER_CLASSES = CLASSES_PER_DOUBLING // 2
"""A free block this many classes larger is taken rather than fresh memory: 1.5 times the size at most."""
UNUSED_AFTER_LEASES = 1024
"""A free block that was not needed during this many leases is given up."""
SWEEP_EVERY_LEASES = 64
DEFAULT_FREE_BYTES = 1 << 30


class Lease:
    """Stands at the end of the base chain of every array and tensor that looks at a block.

    Its finaliser may run inside the garbage collector, and so inside any code, also code that holds a lock of ours:
    it takes no lock, and only appends to a deque, which the interpreter does in one piece.
    """

    __slots__ = ("__array_interface__", "block", "returned")

    def __init__(self, block: Block, size_bytes: int, returned: deque[Block]) -> None:
        self.block = block
        self.returned = returned
        self.__array_interface__ = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (block.address, False),
            "version": 3,
        }

    def __del__(self) -> None:
        self.returned.append(self.block)


class SlotPool:
    """Gives arrays whose memory is reused once the last array or tensor over it is gone. Safe from any thread.

    A user who keeps all batches gets fresh memory for each; nothing is ever taken away from him.

    Args:
        max_free_bytes: How much memory may lie unused; the longest unused goes first.
    """

    def __init__(self, *, max_free_bytes: int = DEFAULT_FREE_BYTES) -> None:
        self.max_free_bytes = max_free_bytes
        self.returned: deque[Block] = deque()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Starts anew: another thread may have held the lock when this process was forked off."""
        self.lock = threading.Lock()
        self.free: dict[int, deque[Block]] = {}
        self.free_bytes = 0
        self.num_leases = 0

    def allocate(
        self, shape: Sequence[int] | int, dtype: npt.DTypeLike, recorder: Recorder | None = None
    ) -> npt.NDArray[Any]:
        """A C-contiguous, uninitialised array, aligned to 64 bytes at least.

        Args:
            shape: Shape of the array.
            dtype: Any dtype without Python objects.
            recorder: Counts `fresh_slots`, the leases that found no free block.

        Raises:
            OptionError: A dtype that holds Python objects.
            MemoryError: The system has no memory left.
        """
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise OptionError("a slot cannot hold Python objects", got=kind, accepted="numbers, booleans, fixed bytes")
        dims = (shape,) if isinstance(shape, int) else tuple(shape)
        size_bytes = math.prod(dims) * kind.itemsize
        if size_bytes < LEASE_FROM_BYTES:
            return np.empty(dims, kind)
        block = self.take(size_class(size_bytes))
        if block is None:
            block = Block(size_class(size_bytes))
            if recorder is not None:
                recorder.count("fresh_slots")
        memory = np.asarray(Lease(block, size_bytes, self.returned))
        return np.ndarray(dims, kind, memory)

    def take(self, class_bytes: int) -> Block | None:
        """A free block of this class, or of one that is little larger."""
        with self.lock:
            self.collect()
            self.num_leases += 1
            for candidate in candidates(class_bytes):
                blocks = self.free.get(candidate)
                if blocks:
                    block = blocks.pop()  # the last one used is the one still in the processor's caches
                    self.forget(candidate, blocks)
                    return block
        return None

    def collect(self) -> None:
        """Sorts in what finalisers have given back, then drops what is too much or too old."""
        while self.returned:
            block = self.returned.popleft()
            block.returned_at = self.num_leases
            self.free.setdefault(block.class_bytes, deque()).append(block)
            self.free_bytes += block.class_bytes
        if self.free_bytes > self.max_free_bytes or self.num_leases % SWEEP_EVERY_LEASES == 0:
            self.drop(self.max_free_bytes, self.num_leases - UNUSED_AFTER_LEASES)

    def drop(self, keep_bytes: int, unused_since: int) -> None:
        """Frees the longest unused blocks until `keep_bytes` are left and none is older than `unused_since`."""
        while self.free:
            oldest = min(self.free, key=lambda class_bytes: self.free[class_bytes][0].returned_at)
            blocks = self.free[oldest]
            if self.free_bytes <= keep_bytes and blocks[0].returned_at >= unused_since:
                return
            blocks.popleft()
            self.forget(oldest, blocks)

    def forget(self, class_bytes: int, blocks: deque[Block]) -> None:
        """Books a block of this class out of the free ones."""
        self.free_bytes -= class_bytes
        if not blocks:
            del self.free[class_bytes]

    def trim(self, keep_bytes: int = 0) -> None:
        """Gives free memory back to the system until at most `keep_bytes` of it are left."""
        with self.lock:
            self.collect()
            self.drop(keep_bytes, self.num_leases - UNUSED_AFTER_LEASES)


@functools.lru_cache(maxsize=256)
def candidates(class_bytes: int) -> tuple[int, ...]:
    """A size class and the ones above it that may stand in for it."""
    classes = [class_bytes]
    for _ in range(LARGER_CLASSES):
        classes.append(size_class(classes[-1] + 1))
    return tuple(classes)
