"""Whether images are left in the page cache until they are decoded."""

from __future__ import annotations

from headrace._native import CachedRanges
from headrace.contracts import I32, U64

__all__ = ["CachedRanges", "PageCacheReads"]

LARGEST_BYTES = 1 << 20
"""Beyond it copying does not count beside decoding, and each thread would keep as much memory."""
MOST_WAIT_S = 0.001
"""For so long decode threads may wait for the pages of a batch that are missing: reading everything ahead of time takes
as much of a batch of 64 photographs."""
PAUSE_BATCHES = 64
"""Batches that are read ahead of time after the first one that has waited for longer. Each further one doubles it:
where storage is slower than decoding there would be many."""
MOST_DOUBLINGS = 6
WHOLE_AFTER_BATCHES = 64
"""After so many batches of which not a page was missing, it is taken that none is where none of a few probes is."""
FORGIVEN_AFTER_BATCHES = 1024
"""After so many batches that were there, the next miss is a first one again."""


class PageCacheReads:
    """Decides for each batch, from what has become of earlier ones. Called from several threads, in any order."""

    def __init__(self) -> None:
        self.is_trusted = False
        """Whether the last batch that was looked for was there, and no later one was missed."""
        self.pause = 0
        self.num_missed = 0
        self.num_found = 0
        """Batches that were left there since the last miss."""
        self.num_whole = 0
        """The same since a page was last waited for."""

    def __reduce__(self) -> tuple[type[PageCacheReads], tuple[()]]:
        return PageCacheReads, ()  # what was seen holds here and now

    def found(self, fds: I32, offsets: U64, sizes: U64) -> bool:
        """Whether these ranges of open files are to stay in the page cache, because all of them are there.

        Looking costs a system call a range. So what follows a batch that was there is taken to be there too.

        Args:
            fds: File of each range, shape (rows,); below 0 where there is no range.
            offsets: First byte of each range in its file, same shape.
            sizes: Bytes of each range, same shape; 0 where there is none.
        """
        if self.pause > 0:
            self.pause -= 1
            return False
        if not len(sizes) or int(sizes.max()) > LARGEST_BYTES:
            return False
        if not self.is_trusted:
            self.is_trusted = CachedRanges(fds, offsets, sizes).all_there()
        self.num_found += self.is_trusted
        self.num_whole += self.is_trusted
        return self.is_trusted

    @property
    def is_whole(self) -> bool:
        """Whether pages have not been missing for a while."""
        return self.is_trusted and self.num_whole >= WHOLE_AFTER_BATCHES

    def waited(self, wait_s: float) -> None:
        """For so long decode threads have waited for pages of a batch that were taken to be there.

        Batches that were under way together on the same trust are one miss.
        """
        if wait_s > 0:
            self.num_whole = 0
        if wait_s <= MOST_WAIT_S or not self.is_trusted:
            return
        if self.num_found >= FORGIVEN_AFTER_BATCHES:
            self.num_missed = 0
        self.is_trusted, self.num_found = False, 0
        self.pause = PAUSE_BATCHES << min(self.num_missed, MOST_DOUBLINGS)
        self.num_missed += 1
