"""Whether images are left in the page cache until they are decoded."""

from __future__ import annotations

from headrace._native import CachedRanges
from headrace.contracts import I32, U64

__all__ = ["CachedRanges", "PageCacheReads"]

LARGEST_BYTES = 1 << 20
"""Beyond it copying does not count beside decoding, and each thread would keep as much memory."""
PAUSE_BATCHES = 64
"""Batches that are read ahead of time after the first one of which too many pages were missing when it was decoded.
Each miss doubles it: it costs a batch that is decoded twice, and where storage is slower than decoding there would be
many."""
MOST_DOUBLINGS = 6


class PageCacheReads:
    """Decides for each batch, from what has become of earlier ones. Called from several threads, in any order."""

    def __init__(self) -> None:
        self.is_trusted = False
        """Whether the last batch that was looked for was there, and no later one was missed."""
        self.pause = 0
        self.num_missed = 0

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
        return self.is_trusted

    def missed(self) -> None:
        """Pages that were taken to be there were not when the batch was decoded.

        Batches that were under way together on the same trust are one miss.
        """
        if self.is_trusted:
            self.is_trusted = False
            self.pause = PAUSE_BATCHES << min(self.num_missed, MOST_DOUBLINGS)
            self.num_missed += 1
