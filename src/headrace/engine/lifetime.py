"""The end of something that several threads work in: closed at any moment, cleaned up once, by whoever is last."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from headrace._base.forks import renew_after_fork
from headrace.errors import LoaderClosedError

CLOSE_GRACE_S = 5.0
"""How long `close` waits for pieces of work that have begun; those that last longer clean up themselves afterwards."""


class Lifetime:
    """From the first job to the clean-up.

    Args:
        clean_up: Called once, when it is closed and no job is at work.
        submit: Hands a job to a thread. Must be safe to call in a finaliser.
    """

    def __init__(self, clean_up: Callable[[], None], submit: Callable[[Callable[[], None]], None]) -> None:
        self.clean_up = clean_up
        self.submit = submit
        self.lock = threading.Lock()
        self.idle = threading.Condition(self.lock)
        self.gone = threading.Event()
        self.at_work: set[int] = set()
        self.closed: type[LoaderClosedError] | None = None
        self.cleaning = False
        self.forked = False
        renew_after_fork(self)

    def after_fork(self) -> None:
        """The threads, and perhaps a lock in their hands, stayed in the parent."""
        self.forked = True

    def enter(self) -> bool:
        """Begins a job of this thread; False where everything is closed."""
        with self.lock:
            if self.closed is not None:
                return False
            self.at_work.add(threading.get_ident())
            return True

    def leave(self) -> None:
        """Ends the job of this thread; the last one of something closed cleans up."""
        with self.lock:
            self.at_work.discard(threading.get_ident())
            self.idle.notify_all()
        self.sweep()

    def sweep(self) -> None:
        """Cleans up where it is closed, nobody is at work, and nobody has cleaned up before."""
        with self.lock:
            mine = self.closed is not None and not self.at_work and not self.cleaning
            self.cleaning |= mine
        if mine:
            try:
                self.clean_up()
            finally:
                self.clean_up = nothing  # leads back here: a reference cycle would wait for the garbage collector
                self.gone.set()

    def abandon(self) -> None:
        """Closes without waiting and without a lock: for finalisers, which may run inside any code."""
        if not self.cleaning and not self.forked:
            self.closed = self.closed or LoaderClosedError
            self.submit(self.sweep)

    def close(self, kind: type[LoaderClosedError]) -> None:
        """Lets no job begin any more. Idempotent.

        Args:
            kind: What a later call for a batch raises.
        """
        with self.lock:
            self.closed = self.closed or kind

    def settle(self, *, may_wait: bool) -> None:
        """After `close`: waits a little for jobs that have begun, and sees to the clean-up.

        Args:
            may_wait: Whether to wait also for a clean-up that another thread is at.
        """
        deadline_s = time.monotonic() + CLOSE_GRACE_S
        with self.lock:
            mine = {threading.get_ident()}
            while self.at_work - mine and (left_s := deadline_s - time.monotonic()) > 0:
                self.idle.wait(left_s)
        self.sweep()
        if may_wait:
            self.gone.wait(max(0.0, deadline_s - time.monotonic()))


def nothing() -> None:
    """What is left to do after the clean-up."""
