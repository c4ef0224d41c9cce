"""One memory budget for all loaders of a process: who may start the next step."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable

from headrace._base.forks import renew_after_fork
from headrace.errors import OptionError

COMMON_SHARE = 0.75
"""What one loader alone may fill. The rest stays free for a loader that starts while this one stands still, such as a
validation pass in the middle of an epoch."""
GUARANTEED_SHARE = 0.5
"""A loader that holds less than this may use everything that is free, and waits in line before all others."""


class ByteBudget:
    """Admits steps while their bytes fit. Nothing here blocks: a step that does not fit is told when it does.

    Rules, in this order:

    1. An account that holds nothing is always served, so every loader moves, however small the budget.
    2. Accounts are served in the order in which they asked; one that asks for its `GUARANTEED_SHARE` holds up those
       behind it, so that small steps of one loader cannot starve the large steps of another.
    3. Beyond that share an account fills only `COMMON_SHARE` of the budget.

    Args:
        limit_bytes: Bytes of all steps in flight together (rule 1 apart). An account with a larger limit of its own
            raises it for as long as it is open.

    Raises:
        OptionError: A limit below 1.
    """

    def __init__(self, limit_bytes: int) -> None:
        if limit_bytes < 1:
            raise OptionError("a memory budget must have room", got=limit_bytes, accepted="1 byte or more")
        self.least_limit_bytes = limit_bytes
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """Starts anew in a child: the steps in flight are the parent's."""
        self.lock = threading.Lock()
        self.limit_bytes = self.least_limit_bytes
        self.used_bytes = 0
        self.peak_bytes = 0
        self.accounts: set[Account] = set()
        self.waiting: deque[Account] = deque()

    def open(self, granted: Callable[[], None], *, limit_bytes: int | None = None) -> Account:
        """An account for one iteration of one loader.

        Args:
            granted: Called, from any thread and without a lock held, when a step that did not fit is admitted.
            limit_bytes: What this iteration may hold at most; None for the limit of the budget.
        """
        account = Account(self, granted, limit_bytes)
        with self.lock:
            self.accounts.add(account)
            self.adjust_limit()
        return account

    def adjust_limit(self) -> None:
        """Takes the largest limit of those that are iterating; called with the lock held."""
        limits = [account.limit_bytes or 0 for account in self.accounts]
        self.limit_bytes = max([self.least_limit_bytes, *limits])

    def serve(self) -> list[Account]:
        """Admits what fits among those that wait, in their order; called with the lock held."""
        served = []
        held_up = False
        for account in list(self.waiting):
            if (account.num_steps == 0 or not held_up) and self.fits(account, account.wanted_bytes):
                self.waiting.remove(account)
                self.charge(account, account.wanted_bytes)
                served.append(account)
            else:
                held_up |= account.wants_guaranteed()
        return served

    def fits(self, account: Account, size_bytes: int) -> bool:
        """Whether a step may start; called with the lock held."""
        if account.num_steps == 0:
            return True
        if account.over_limit(size_bytes):
            return False
        share = 1.0 if account.guarantees(size_bytes) else COMMON_SHARE
        return self.used_bytes + size_bytes <= share * self.limit_bytes

    def charge(self, account: Account, size_bytes: int) -> None:
        """Books a step; called with the lock held."""
        account.num_steps += 1
        account.held_bytes += size_bytes
        self.used_bytes += size_bytes
        self.peak_bytes = max(self.peak_bytes, self.used_bytes)


class Account:
    """What one iteration holds of a budget. At most one of its steps waits at a time."""

    __slots__ = ("budget", "granted", "held_bytes", "limit_bytes", "num_steps", "wanted_bytes")

    def __init__(self, budget: ByteBudget, granted: Callable[[], None], limit_bytes: int | None) -> None:
        self.budget = budget
        self.granted = granted
        self.limit_bytes = limit_bytes
        self.held_bytes = 0
        self.num_steps = 0
        self.wanted_bytes = 0

    def guarantees(self, size_bytes: int) -> bool:
        """Whether this account would stay within its guaranteed share."""
        return self.held_bytes + size_bytes <= GUARANTEED_SHARE * self.budget.limit_bytes

    def wants_guaranteed(self) -> bool:
        """Whether what it waits for is within its guaranteed share and its own limit."""
        return self.guarantees(self.wanted_bytes) and not self.over_limit(self.wanted_bytes)

    def over_limit(self, size_bytes: int) -> bool:
        """Whether a further step would pass this account's own limit."""
        return self.limit_bytes is not None and self.held_bytes + size_bytes > self.limit_bytes

    def most_steps(self, size_bytes: int) -> int:
        """How many steps of this size it can hold at the same time."""
        limit_bytes = int(COMMON_SHARE * self.budget.limit_bytes)
        if self.limit_bytes is not None:
            limit_bytes = min(limit_bytes, self.limit_bytes)
        return max(1, limit_bytes // size_bytes)

    def admit(self, size_bytes: int) -> bool:
        """True: the step may start. False: `granted` is called when it may."""
        budget = self.budget
        with budget.lock:
            behind = any(waiting.wants_guaranteed() for waiting in budget.waiting)
            if (self.num_steps == 0 or not behind) and budget.fits(self, size_bytes):
                budget.charge(self, size_bytes)
                return True
            self.wanted_bytes = size_bytes
            budget.waiting.append(self)
            return False

    def correct(self, estimated_bytes: int, actual_bytes: int) -> None:
        """Replaces the estimate of a step in flight by what it turned out to hold."""
        self.book(actual_bytes - estimated_bytes, 0)

    def give(self, size_bytes: int) -> None:
        """Gives the bytes of a step back."""
        self.book(-size_bytes, -1)

    def close(self) -> None:
        """Gives everything back and asks for nothing more. Idempotent."""
        with self.budget.lock:
            self.budget.accounts.discard(self)
            self.budget.adjust_limit()
            if self in self.budget.waiting:
                self.budget.waiting.remove(self)
        self.granted = nothing  # may lead back here: a reference cycle would wait for the garbage collector
        self.book(-self.held_bytes, -self.num_steps)

    def book(self, num_bytes: int, num_steps: int) -> None:
        """Changes what is held, and serves those for whom this makes room."""
        budget = self.budget
        with budget.lock:
            self.held_bytes += num_bytes
            self.num_steps += num_steps
            budget.used_bytes += num_bytes
            budget.peak_bytes = max(budget.peak_bytes, budget.used_bytes)
            served = budget.serve() if budget.waiting else []
        announce(served)


def announce(served: list[Account]) -> None:
    """Tells accounts that their waiting step is admitted."""
    for account in served:
        account.granted()


def nothing() -> None:
    """What a closed account is told."""
