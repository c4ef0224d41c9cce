"""What the process of the trainer holds while a loader is iterated over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from headrace.engine import Pauses, Stats, shared_native_pool


@contextmanager
def while_iterating(stats: Stats, num_threads: int | None) -> Iterator[None]:
    """What is there from the beginning to the end of an iteration, in this process.

    Args:
        stats: Gets the pauses of the garbage collector.
        num_threads: Threads of the native pool; None for no pool, where worker processes decode.
    """
    with Pauses(stats.pause), nullcontext() if num_threads is None else shared_native_pool(num_threads):
        yield
