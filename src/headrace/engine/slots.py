"""Batch memory that is leased: it goes back to its ring when nobody looks at it any more."""

from __future__ import annotations

import math
import threading
from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from headrace._base.forks import renew_after_fork
from headrace._base.headroom import MemoryGuard
from headrace.contracts import Recorder
from headrace.engine.blocks import SMALLEST_CLASS_BYTES, Block, Memory, near_classes, size_class
from headrace.engine.rings import Ring
from headrace.errors import OptionError

LEASE_FROM_BYTES = SMALLEST_CLASS_BYTES
"""Smaller arrays (labels, sizes) are cheaper from the allocator than from a ring."""
UNUSED_AFTER_LEASES = 1024
"""A free block that was not needed during this many leases is given up."""
SWEEP_EVERY_LEASES = 64
DEFAULT_FREE_BYTES = 1 << 30


class Returns(Protocol):
    """Takes back what was leased. Called by finalisers: takes no lock."""

    def append(self, memory: Any, /) -> None:
        """Takes one piece back."""


class Lease:
    """Stands at the end of the base chain of every array and tensor that looks at a block.

    Its finaliser may run inside the garbage collector, and so inside any code, also code that holds a lock of ours:
    it takes no lock, and only appends to a deque, which the interpreter does in one piece.
    """

    __slots__ = ("__array_interface__", "block", "returned")

    def __init__(self, block: Memory, size_bytes: int, returned: Returns) -> None:
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
        self.guard = MemoryGuard()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Starts anew: another thread may have held the lock when this process was forked off."""
        self.lock = threading.Lock()
        self.returned: deque[Memory] = deque()  # what was leased before goes back to the old one, and so to the system
        self.rings: defaultdict[int, Ring] = defaultdict(Ring)
        self.free_bytes = 0
        self.num_leases = 0

    def allocate(
        self,
        shape: Sequence[int] | int,
        dtype: npt.DTypeLike,
        recorder: Recorder | None = None,
        *,
        num_at_once: int = 0,
    ) -> npt.NDArray[Any]:
        """A C-contiguous, uninitialised array, aligned to 64 bytes at least.

        Args:
            shape: Shape of the array.
            dtype: Any dtype without Python objects.
            recorder: Counts `fresh_slots`, the leases that got a new block.
            num_at_once: How many arrays of about this size are expected to be out at the same time. So many blocks are
                made before one is reused: memory is at its height after the first steps, and not in some later epoch
                in which, by chance, all are out.

        Raises:
            OptionError: A dtype that holds Python objects.
            MemoryBudgetError: The machine, or the control group, has not as much memory left.
            MemoryError: The system refuses it.
        """
        kind = np.dtype(dtype)
        if kind.hasobject:
            raise OptionError("a slot cannot hold Python objects", got=kind, accepted="numbers, booleans, fixed bytes")
        dims = (shape,) if isinstance(shape, int) else tuple(shape)
        size_bytes = math.prod(dims) * kind.itemsize
        if size_bytes < LEASE_FROM_BYTES:
            return np.empty(dims, kind)
        class_bytes = size_class(size_bytes)
        block = self.take(class_bytes, num_at_once)
        if block is None:
            block = self.make(class_bytes)
            if recorder is not None:
                recorder.count("fresh_slots")
        memory = np.asarray(Lease(block, size_bytes, self.returned))
        return np.ndarray(dims, kind, memory)

    def take(self, class_bytes: int, num_at_once: int) -> Memory | None:
        """A free block of this class or a larger one, up to its double; None where one is to be made, and counted."""
        num_at_once = min(num_at_once, self.max_free_bytes // class_bytes)
        smaller, larger = near_classes(class_bytes)
        with self.lock:
            self.collect()
            self.num_leases += 1
            ring = self.rings[class_bytes]
            ring.asked(num_at_once, self.num_leases)
            if ring.num_blocks >= num_at_once or self.num_blocks(smaller + larger) >= num_at_once:
                block = self.reuse(larger)
                if block is not None:
                    return block
                self.trade_in(smaller)
            ring.num_blocks += 1
        return None

    def reuse(self, larger: Sequence[int]) -> Memory | None:
        """A free block of the first of these classes that has one."""
        for near in larger:
            if near in self.rings and self.rings[near].free:
                self.free_bytes -= near
                return self.rings[near].free.pop()  # the last one used is the one still in the processor's caches
        return None

    def num_blocks(self, classes: Sequence[int]) -> int:
        """Blocks of some classes, free ones and others."""
        return sum(self.rings[one].num_blocks for one in classes if one in self.rings)

    def make(self, class_bytes: int) -> Memory:
        """A new block, which is counted already."""
        try:
            self.guard.take(class_bytes, "a batch")
            return self.fresh(class_bytes)
        except BaseException:
            with self.lock:
                self.rings[class_bytes].num_blocks -= 1
            raise

    def fresh(self, class_bytes: int) -> Memory:
        """Memory that nobody uses."""
        return Block(class_bytes)

    def discard(self, memory: Memory) -> None:
        """Gives memory up; here the last reference to a block frees it."""

    def reusable(self) -> Iterator[Memory]:
        """What finalisers have given back."""
        while self.returned:
            yield self.returned.popleft()

    def trade_in(self, smaller: Sequence[int]) -> None:
        """Drops a free block that is too small for what is asked: rings grow in size, not in number."""
        for near in smaller:
            if near in self.rings and self.rings[near].free:
                self.drop_oldest(near)
                return

    def collect(self) -> None:
        """Sorts in what finalisers have given back, then drops what is too much or too old."""
        for block in self.reusable():
            block.returned_at = self.num_leases
            self.rings[block.class_bytes].free.append(block)
            self.free_bytes += block.class_bytes
        if self.free_bytes > self.max_free_bytes:
            self.drop_surplus(self.max_free_bytes)
        if self.num_leases % SWEEP_EVERY_LEASES == 0:
            self.drop_stale(self.num_leases - UNUSED_AFTER_LEASES)

    def drop_surplus(self, keep_bytes: int) -> None:
        """Frees the longest unused blocks until at most `keep_bytes` lie unused."""
        while self.free_bytes > keep_bytes:
            with_free = [class_bytes for class_bytes, ring in self.rings.items() if ring.free]
            self.drop_oldest(min(with_free, key=lambda class_bytes: self.rings[class_bytes].free[0].returned_at))

    def drop_stale(self, since: int) -> None:
        """Frees blocks that were not needed since then, and forgets rings that have none left."""
        for class_bytes, ring in list(self.rings.items()):
            while ring.is_stale(since):
                self.drop_oldest(class_bytes)
            if ring.num_blocks == 0:
                del self.rings[class_bytes]

    def drop_oldest(self, class_bytes: int) -> None:
        """Frees the longest unused block of a class."""
        ring = self.rings[class_bytes]
        self.discard(ring.free.popleft())
        ring.num_blocks -= 1
        self.free_bytes -= class_bytes

    def trim(self, keep_bytes: int = 0) -> None:
        """Gives free memory back to the system until at most `keep_bytes` of it are left."""
        with self.lock:
            self.collect()
            self.drop_surplus(keep_bytes)
