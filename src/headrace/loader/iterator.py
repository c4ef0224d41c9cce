"""One pass over an epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.contracts import Delivered
from headrace.errors import HeadraceError
from headrace.loader.agreement import Agreement
from headrace.loader.made import Made
from headrace.loader.progress import Progress
from headrace.loader.steps import StepSource


class LoaderIterator(Iterator[Any]):
    """Hands over the batches of one epoch and tells the loader's progress of each.

    It holds no reference to its loader, so that `for batch in DataLoader(...)` and a dropped loader both end cleanly;
    when it is dropped itself, the stream ends the work behind it.
    """

    def __init__(
        self,
        stream: Iterator[Delivered],
        steps: StepSource,
        progress: Progress,
        agreement: Agreement,
        rank: int,
    ) -> None:
        self.stream = stream
        self.steps = steps
        self.epoch = progress.here.epoch
        self.progress = progress
        self.agreement = agreement
        self.rank = rank
        self.is_over = False

    def __len__(self) -> int:
        """Batches of the whole epoch, as iterators of torch's loader have it.

        Raises:
            TypeError: Nobody knows.
        """
        return self.steps.num_steps(self.epoch)

    def __next__(self) -> Any:
        """The next batch.

        Raises:
            StopIteration: The epoch is over.
            StaleIteratorError: A second `iter` on the loader has ended this iterator.
            LoaderClosedError: The loader was closed.
            RankMismatchError: Another rank has opened a different epoch meanwhile.
            Exception: What a stage raised, at its place in the order.
        """
        if self.is_over:
            # Another iterator may be at work by now: this one has nothing more to say.
            raise StopIteration
        try:
            delivered = next(self.stream)
        except StopIteration:
            self.is_over = True
            self.progress.ended()
            self.agreement.ended()
            raise
        except HeadraceError as error:
            error.at(rank=self.rank)
            raise
        made: Made = delivered.batch
        self.agreement.takes()
        self.progress.delivered(made.valid)
        return made.batch
