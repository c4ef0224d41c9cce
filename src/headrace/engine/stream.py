"""What the consumer of an engine iterates over."""

from __future__ import annotations

from collections.abc import Iterator
from types import TracebackType
from typing import Protocol, Self

from headrace.contracts import Delivered
from headrace.errors import LoaderClosedError


class Source(Protocol):
    """Makes batches ready for a stream, and does not know the stream."""

    def take(self) -> Delivered:
        """The next batch; raises StopIteration after the last one."""

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends it; `kind` is what a later `take` raises."""

    def abandon(self) -> None:
        """Ends it without waiting and without taking a lock."""


class StepStream(Iterator[Delivered]):
    """Batches in the order of their steps. Dropping it ends the work behind it; so does leaving a `with` block."""

    def __init__(self, source: Source) -> None:
        self.source = source

    def __next__(self) -> Delivered:
        return self.source.take()

    def close(self) -> None:
        """Ends the work, and waits a few seconds at most for what has begun. Idempotent."""
        self.source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        self.source.abandon()
