"""Open files of this process: how many there are, how many there may be, and who may open the next ones.

Whatever reads many files at a time asks `OPEN_FILES` first. So all datasets and all threads of the process together
stay within a part of the limit, and a batch that lies in more files than that is read in parts.
"""

from __future__ import annotations

import contextlib
import resource
import threading
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

from headrace._base.forks import renew_after_fork

MOST_FILES = 1024
"""Files that are open for reading at the same time, however many are allowed: beyond it nothing gets faster."""
PART_OF_LIMIT = 4
"""A quarter of the limit is for files that are being read, another quarter for shards that are kept open for later. The
other half is left to the program, its libraries and the worker processes."""


class OpenFiles:
    """Says when further files may be opened. What asks for files while it holds some may wait for ever: ask once."""

    def __init__(self) -> None:
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """In a forked child nobody reads yet, and no thread holds the lock."""
        self.turn = threading.Condition(threading.Lock())
        self.num_in_use = 0
        self.to_give_back: deque[Callable[[], None]] = deque()

    @property
    def capacity(self) -> int:
        """Files that may be read at the same time, by all threads together; follows the limit, which may be raised."""
        soft, _ = open_file_limits()
        return MOST_FILES if soft is None else max(1, min(MOST_FILES, soft // PART_OF_LIMIT))

    @property
    def most_at_once(self) -> int:
        """Files that one reader should ask for at once: half of them, so that two can read side by side."""
        return max(1, self.capacity // 2)

    def fits(self, num: int) -> bool:
        """Whether so many more may be opened now. Called with `turn` held.

        Who asks for more than there may be gets them once nobody else has any: the reader moves, and the limit, four
        times as high, is not reached.
        """
        return num == 0 or self.num_in_use == 0 or self.num_in_use + num <= self.capacity

    def may_be_kept(self) -> bool:
        """Whether files in use now may stay so for long: any reader's next request has room beside them."""
        with self.turn:
            return self.num_in_use <= self.capacity // 2

    def give_back_soon(self, release: Callable[[], None]) -> None:
        """Calls `release`, which takes `turn`, now or when files are next asked for; for finalisers.

        A finaliser may run anywhere, also in a thread that holds `turn`.
        """
        self.to_give_back.append(release)
        if self.turn.acquire(blocking=False):
            self.turn.release()
            self.settle()

    def settle(self) -> None:
        """Gives back what finalisers could not. Called before files are asked for, without `turn`."""
        while self.to_give_back:
            with contextlib.suppress(IndexError):  # another thread was faster
                self.to_give_back.popleft()()

    @contextlib.contextmanager
    def reading(self, num: int) -> Iterator[None]:
        """Waits until so many files may be opened, which the caller does in this block, and closes them in it."""
        self.settle()
        with self.turn:
            self.turn.wait_for(lambda: self.fits(num))
            self.num_in_use += num
        try:
            yield
        finally:
            with self.turn:
                self.give_back(num)

    def give_back(self, num: int) -> None:
        """So many are not in use any more. Called with `turn` held."""
        self.num_in_use -= num
        self.turn.notify_all()


OPEN_FILES = OpenFiles()
"""Those of this process."""


def open_file_limits() -> tuple[int | None, int | None]:
    """Soft and hard limit of open files, None for "no limit"."""
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft, hard = (None if limit == resource.RLIM_INFINITY else limit for limit in limits)
    return soft, hard


def raise_open_file_limit(soft: int) -> None:
    """Raises the soft limit of this process, and of those that it starts, to so many files; never lowers it.

    Raises:
        ValueError: Beyond the hard limit.
    """
    present, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if present != resource.RLIM_INFINITY and soft > present:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def num_open_files() -> int:
    """Descriptors that this process has open; 0 where the system does not tell."""
    listing = Path("/dev/fd")
    return sum(1 for _ in listing.iterdir()) - 1 if listing.is_dir() else 0  # one of them is the listing itself
