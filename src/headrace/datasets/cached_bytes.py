"""Encoded images that lie in the page cache: copied where they are decoded, or read when somebody wants them sooner."""

from __future__ import annotations

from collections.abc import Callable

from headrace.contracts import I32, I64, U64, InMemory
from headrace.shards import RangeLease
from headrace.storage import CachedRanges, PageCacheReads


class UnreadRanges:
    """One field of a batch in files that stay open for it.

    Args:
        lease: Keeps the files open as long as this lives.
        entry: Which field of the lease it is.
        load: Reads it in the usual way.
        reads: Gets to know when something was not there.
    """

    def __init__(self, lease: RangeLease, entry: int, load: Callable[[], InMemory], reads: PageCacheReads) -> None:
        self.lease = lease
        self.fds: I32 = lease.fds[entry]
        self.offsets: U64 = lease.offsets[entry]
        self.sizes: U64 = lease.sizes[entry]
        self.load = load
        self.reads = reads
        self.memory: InMemory | None = None

    def read(self) -> InMemory:
        """All rows in memory; read once."""
        if self.memory is None:
            self.memory = self.load()
        return self.memory


class CachedBytes:
    """Rows of unread ranges: what `headrace.contracts.InPageCache` asks for. Used by one thread at a time."""

    def __init__(self, unread: UnreadRanges, rows: I64 | None = None) -> None:
        self.unread = unread
        self.rows = rows

    @property
    def ranges(self) -> CachedRanges:
        """For the kernel; the rows of samples that lack the field are not to be among them."""
        unread, rows = self.unread, slice(None) if self.rows is None else self.rows
        return CachedRanges(unread.fds[rows], unread.offsets[rows], unread.sizes[rows])

    def read(self) -> InMemory:
        """The rows in memory."""
        memory = self.unread.read()
        return memory if self.rows is None else memory.take(self.rows)

    def take(self, rows: I64) -> CachedBytes:
        """Some of these rows; the bytes are still read at most once for all of them."""
        return CachedBytes(self.unread, rows if self.rows is None else self.rows[rows])

    def waited(self, wait_s: float) -> None:
        """For how long the kernel has waited for what was not there."""
        self.unread.reads.waited(wait_s)
