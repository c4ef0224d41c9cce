"""Where batches arrive that another process has made."""

from __future__ import annotations

from collections.abc import Iterator

from headrace.contracts import BatchStream, Delivered
from headrace.loader.made import BatchSizes, Made, tensor_bytes
from headrace.loader.pinning import pin


class Landing(Iterator[Delivered]):
    """A stream of batches, with what is left to be done in the trainer's process.

    A worker can neither pin memory for it nor tell it what batches weigh.

    Args:
        stream: The batches as workers send them.
        sizes: Learns what a row weighs.
        pins: Whether batches are page-locked here.
    """

    def __init__(self, stream: BatchStream, sizes: BatchSizes, *, pins: bool) -> None:
        self.stream = stream
        self.sizes = sizes
        self.pins = pins

    def __next__(self) -> Delivered:
        delivered = next(self.stream)
        made: Made = delivered.batch
        self.sizes.saw(tensor_bytes(made.batch), len(delivered.step.ids))
        if not self.pins:
            return delivered
        return Delivered(step=delivered.step, batch=Made(batch=pin(made.batch), valid=made.valid))

    def close(self) -> None:
        """Ends the work behind it. Idempotent."""
        self.stream.close()
