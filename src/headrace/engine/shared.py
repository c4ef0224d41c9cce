"""What the loaders of one process share: threads and the memory budget. Threads exist only while one iterates."""

from __future__ import annotations

import atexit
import threading
from typing import Protocol

from headrace._base.forks import renew_after_fork
from headrace.engine.budget import ByteBudget
from headrace.engine.slots import SlotPool
from headrace.engine.thread_group import ThreadGroup


class Closable(Protocol):
    """Something that runs on the shared threads."""

    def close(self) -> None:
        """Ends it."""


class SharedWorkers:
    """The thread groups of a process, and who uses them."""

    def __init__(self) -> None:
        self.at_exit = False
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """A child has none of its parent's threads, and starts anew when it iterates itself."""
        self.lock = threading.Lock()
        self.io = ThreadGroup("headrace-io")
        self.workers = ThreadGroup("headrace-worker")
        self.users: set[Closable] = set()

    def enter(self, user: Closable) -> None:
        """Notes a user of the threads, so that it is closed before the interpreter goes down.

        The threads are daemons: joining them is not left to the interpreter, which would wait for ever for a loader
        that nobody closed. It is done at exit, before modules are taken apart under a thread inside native code.
        """
        with self.lock:
            self.users.add(user)
            if not self.at_exit:
                self.at_exit = True
                atexit.register(self.shut_down)

    def leave(self, user: Closable) -> None:
        """Forgets a user. Idempotent."""
        with self.lock:
            self.users.discard(user)

    def shut_down(self) -> None:
        """Closes every user, and with the last lease the threads end and are joined."""
        with self.lock:
            users = list(self.users)
        for user in users:
            user.close()


SHARED_WORKERS = SharedWorkers()
SHARED_SLOTS = SlotPool()
"""Batch memory of this process: what one loader gives back, another one may take."""
SHARED_BUDGET = ByteBudget(1)
"""The budget of this process: as large as the largest limit among the loaders that are iterating."""
