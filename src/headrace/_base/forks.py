"""What a forked child must forget: locks that another thread held, bookkeeping of threads that it does not have."""

from __future__ import annotations

import os
import weakref
from typing import Protocol


class Renewable(Protocol):
    """An object with locks or threads that a forked child cannot use as they are."""

    def after_fork(self) -> None:
        """Called in the child, on its only thread, before any other code of it runs."""


class ForkWatch:
    """Calls `after_fork` of every watched object that is alive when this process turns out to be a forked child."""

    def __init__(self) -> None:
        self.watched: weakref.WeakSet[Renewable] = weakref.WeakSet()
        self.registered = False

    def add(self, item: Renewable) -> None:
        """Watches an object for as long as it lives; the hook is set with the first one, not at import."""
        self.watched.add(item)
        if not self.registered:
            self.registered = True
            os.register_at_fork(after_in_child=self.renew)

    def renew(self) -> None:
        """Renews what is watched; runs in the child."""
        for item in list(self.watched):
            item.after_fork()


FORK_WATCH = ForkWatch()


def renew_after_fork(item: Renewable) -> None:
    """Has `item.after_fork()` called in every child forked from here on; holds no reference to the item."""
    FORK_WATCH.add(item)


class ForkCount:
    """How often this process and its ancestors have forked: what was made before the last fork can be told."""

    def __init__(self) -> None:
        self.num = 0
        self.registered = False

    def watch(self) -> None:
        """Counts from here on. Idempotent; nothing is set at import."""
        if not self.registered:
            self.registered = True
            os.register_at_fork(before=self.add)

    def add(self) -> None:
        """One more; runs in the parent, right before the fork, so that both sides know of it."""
        self.num += 1


FORKS = ForkCount()
