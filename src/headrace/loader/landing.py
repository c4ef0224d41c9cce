"""Where batches arrive that another process has made."""

from __future__ import annotations

from headrace.contracts import Delivered
from headrace.loader.made import BatchSizes, Made, tensor_bytes
from headrace.loader.pinning import pin


class Landing:
    """What is left to be done in the trainer's process.

    A worker can neither pin memory for it nor tell it what batches weigh.

    Args:
        sizes: Learns what a row weighs.
        pins: Whether batches are page-locked here.
    """

    def __init__(self, sizes: BatchSizes, *, pins: bool) -> None:
        self.sizes = sizes
        self.pins = pins

    def land(self, delivered: Delivered) -> Made:
        """The batch as it is handed over."""
        made: Made = delivered.batch
        self.sizes.saw(tensor_bytes(made.batch), len(delivered.step.ids))
        return Made(batch=pin(made.batch), valid=made.valid) if self.pins else made
