"""Pools of native threads, one for each size that is asked for, shared by all loaders of a process."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from headrace._base.forks import renew_after_fork
from headrace._native import Pool
from headrace.engine.refusals import no_thread


class NativePools:
    """Pools that exist while somebody holds them."""

    def __init__(self) -> None:
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """A child has none of its parent's threads, and makes pools of its own."""
        self.lock = threading.Lock()
        self.pools: dict[int, Pool] = {}
        self.holders: Counter[int] = Counter()

    @contextmanager
    def hold(self, num_threads: int) -> Iterator[Pool]:
        """A pool of this many threads; the last one who lets it go closes it."""
        with self.lock:
            if num_threads not in self.pools:
                self.pools[num_threads] = make_pool(num_threads)
            pool = self.pools[num_threads]
            self.holders[num_threads] += 1
        try:
            yield pool
        finally:
            self.let_go(num_threads, pool)

    def let_go(self, num_threads: int, pool: Pool) -> None:
        """Ends one hold. A pool that was made before a fork is not this process's to close."""
        with self.lock:
            if self.pools.get(num_threads) is not pool:
                return
            self.holders[num_threads] -= 1
            last = self.holders[num_threads] == 0
            if last:
                del self.pools[num_threads]
        if last:
            pool.close()


def make_pool(num_threads: int) -> Pool:
    """A pool.

    Raises:
        WorkerError: The system gives no thread.
    """
    try:
        return Pool(num_threads)
    except RuntimeError as error:
        raise no_thread(num_threads, "of native code") from error


NATIVE_POOLS = NativePools()

shared_native_pool = NATIVE_POOLS.hold
"""`with shared_native_pool(4) as pool:` gives the pool of four threads that all loaders of this process share. Holding
it around each call is cheap (about 1 us) as long as somebody holds it over the whole iteration."""
