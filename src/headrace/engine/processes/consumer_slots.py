"""The batches of a worker process as leases of the consumer's process."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace._base.forks import FORKS
from headrace.contracts import U8
from headrace.engine.processes.ranges import Range, Sent
from headrace.engine.processes.windows import SharedFile
from headrace.engine.slots import Lease


class Lent:
    """A range of a worker's file that this process looks at: the `Memory` of a lease."""

    __slots__ = ("address", "class_bytes", "forks", "mark", "of", "returned_at")

    def __init__(self, of: Range, mark: int) -> None:
        self.of = of
        self.mark = mark
        self.address = of.address
        self.class_bytes = of.class_bytes
        self.forks = FORKS.num
        self.returned_at = 0


class Loans:
    """Where leases go when nobody looks at the batch any more.

    What was on loan when this process forked never goes back: a child sees the same pages, and no fork of either may
    have them written over under the eyes of the other.
    """

    def append(self, lent: Lent, /) -> None:
        """Tells the worker, by the byte that it looks at, that the range is its own again. Called by finalisers."""
        if lent.forks == FORKS.num:
            lent.of.call_back(lent.mark)


LOANS = Loans()


class ConsumerSlots:
    """Makes arrays over the memory of one worker.

    Args:
        file: That worker's.
    """

    def __init__(self, file: SharedFile) -> None:
        self.file = file

    def lease(self, sent: Sent) -> U8:
        """An array over the data of a range; the range goes back with its last view."""
        lent = Lent(Range(self.file.window(sent.offset), sent.offset, sent.size_bytes), sent.mark)
        memory: Any = np.asarray(Lease(lent, sent.size_bytes, LOANS))
        return memory  # type: ignore[no-any-return]
