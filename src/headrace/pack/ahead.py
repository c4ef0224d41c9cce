"""Work done ahead of its consumer, in order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")


def ahead(
    work: Callable[[Item], Result], items: Iterable[Item], *, num_workers: int, num_ahead: int
) -> Generator[Result, None, None]:
    """Results of `work` in the order of the items; at most `num_ahead` are under way or wait to be taken.

    The threads end with the iterator, whether it is exhausted, closed, or left by an exception.
    """
    pending: deque[Future[Result]] = deque()
    pool = ThreadPoolExecutor(num_workers, thread_name_prefix="headrace-pack")
    try:
        for item in items:
            pending.append(pool.submit(work, item))
            if len(pending) >= num_ahead:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)
