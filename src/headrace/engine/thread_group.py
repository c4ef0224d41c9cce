"""Threads of one kind that all loaders of a process share; they exist while somebody has a lease on them."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeAlias

from headrace.engine.refusals import no_thread

Job: TypeAlias = Callable[[], None]
"""A job never raises, and never waits for another job of its group unless that one has a nested lease."""

JOIN_S = 5.0


class GroupThread(threading.Thread):
    """A thread of a group; knows which one."""

    def __init__(self, group: ThreadGroup, name: str) -> None:
        super().__init__(target=group.work, name=name, daemon=True)
        self.group = group


class ThreadGroup:
    """As many threads as the largest lease asks for, taking jobs in the order in which they came.

    Jobs are handed over through a `SimpleQueue`, whose `put` is reentrant: a finaliser may submit one.

    Args:
        name: Start of the threads' names.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.jobs: SimpleQueue[Job | None] = SimpleQueue()
        self.submit = self.jobs.put
        self.lock = threading.Lock()
        self.leases: set[ThreadLease] = set()
        self.threads: set[GroupThread] = set()
        self.num_staying = 0
        self.numbers = itertools.count()

    def lease(self, num_threads: int) -> ThreadLease:
        """Sees to it that at least this many threads take jobs until the lease is released.

        A lease taken by a job of this very group (a loader inside the transform of another) gets threads of its own:
        the threads that are there may all be waiting for it.

        Raises:
            WorkerError: The system gives no further thread.
        """
        caller = threading.current_thread()
        nested = isinstance(caller, GroupThread) and caller.group is self
        lease = ThreadLease(self, num_threads, nested=nested)
        with self.lock:
            self.leases.add(lease)
            try:
                self.resize()
            except RuntimeError as error:
                self.leases.discard(lease)
                self.resize()
                raise no_thread(num_threads, f"{threading.active_count()} alive") from error
        return lease

    def resize(self) -> None:
        """Starts threads that are missing, and asks those that are too many to end; called with the lock held."""
        flat = max((lease.num_threads for lease in self.leases if not lease.nested), default=0)
        target = flat + sum(lease.num_threads for lease in self.leases if lease.nested)
        while self.num_staying < target:
            thread = GroupThread(self, f"{self.name}-{next(self.numbers)}")
            self.threads.add(thread)
            self.num_staying += 1  # before the start: after a Ctrl-C in the midst of it the thread is there
            try:
                thread.start()
            except RuntimeError:
                self.threads.discard(thread)
                self.num_staying -= 1
                raise
        while self.num_staying > target:
            self.jobs.put(None)
            self.num_staying -= 1

    def work(self) -> None:
        """Life of a thread. No job is referenced while it waits: the thread must not keep a loader alive."""
        while (job := self.jobs.get()) is not None:
            job()
            del job

    def end(self, lease: ThreadLease) -> None:
        """Lets a lease go; the threads that nobody needs end by themselves."""
        with self.lock:
            self.leases.discard(lease)
            self.threads = {thread for thread in self.threads if thread.is_alive()}
            self.resize()

    def settle(self) -> None:
        """Where no lease is left, waits until the threads have ended.

        Does nothing on a thread of any group: two of them could wait for each other.
        """
        if on_a_group_thread():
            return
        with self.lock:
            leaving = [] if self.leases else list(self.threads)
        deadline_s = time.monotonic() + JOIN_S
        for thread in leaving:
            thread.join(max(0.0, deadline_s - time.monotonic()))


class ThreadLease:
    """The right to threads of a group."""

    __slots__ = ("group", "nested", "num_threads")

    def __init__(self, group: ThreadGroup, num_threads: int, *, nested: bool) -> None:
        self.group = group
        self.num_threads = num_threads
        self.nested = nested

    def release(self) -> None:
        """Lets the threads go. Idempotent."""
        self.group.end(self)


def on_a_group_thread() -> bool:
    """Whether the caller is a thread of any group; such a one must not wait for the end of others."""
    return isinstance(threading.current_thread(), GroupThread)
