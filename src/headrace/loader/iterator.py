"""One pass over an epoch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from headrace.contracts import Delivered
from headrace.errors import HeadraceError, LoaderClosedError, StaleIteratorError
from headrace.loader.progress import Progress


class LoaderIterator(Iterator[Any]):
    """Hands over the batches of one epoch and tells the loader's progress of each.

    It holds no reference to its loader, so that `for batch in DataLoader(...)` and a dropped loader both end cleanly.
    """

    def __init__(self, run: Iterator[Delivered], progress: Progress, release: Callable[[], None], rank: int) -> None:
        self.run: Iterator[Delivered] | None = run
        self.progress = progress
        self.release = release
        self.rank = rank
        self.end: HeadraceError | None = None

    def __next__(self) -> Any:
        """The next batch.

        Raises:
            StopIteration: The epoch is over.
            StaleIteratorError: A second `iter` on the loader has ended this iterator.
            LoaderClosedError: The loader was closed.
            Exception: What a stage raised, at its place in the order.
        """
        if self.run is None:
            if self.end is not None:
                raise self.end
            raise StopIteration
        try:
            delivered = next(self.run)
        except StopIteration:
            self.finish()
            self.progress.ended()
            raise
        except HeadraceError as error:
            self.finish()
            raise error.at(rank=self.rank)  # noqa: B904 - it is the same error, with its rank
        except BaseException:
            self.finish()
            raise
        self.progress.delivered(delivered.batch.valid)
        return delivered.batch.batch

    def finish(self, end: HeadraceError | None = None) -> None:
        """Stops the work of this iterator; `end` is what it raises from now on, if anything. Idempotent."""
        run, self.run = self.run, None
        if run is None:
            return
        self.end = end
        close = getattr(run, "close", None)
        if close is not None:
            close()
        self.release()

    def __del__(self) -> None:
        self.finish()


def stale() -> StaleIteratorError:
    """What an iterator raises after a second `iter` on its loader."""
    return StaleIteratorError(
        "a second iter() on this loader has ended this iterator", remedy="Make one loader for each concurrent loop"
    )


def closed() -> LoaderClosedError:
    """What an iterator raises after its loader was closed."""
    return LoaderClosedError("the loader was closed", remedy="Call iter() on it again to start an epoch")
