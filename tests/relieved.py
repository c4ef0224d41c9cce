"""Loaders of which a test says when worker processes take over from the engine that makes the batches first."""

from __future__ import annotations

import time

import pytest

from headrace.loader import running
from headrace.loader.gil_share import GilShare
from headrace.loader.relief import Relief

EPOCHS_S = 1.0
"""What an epoch takes, as a test has it measured: a start beside it pays in the second one."""
PATIENCE_S = 60.0


class Moment:
    """Has worker processes take over at a border between batches that the test says, once they are there.

    Args:
        patch: Undoes it after the test.
        num_samples: Of an epoch.
        border: How many borders to let pass after their start: the begin of that epoch is the first, the end the last.
    """

    def __init__(self, patch: pytest.MonkeyPatch, num_samples: int, border: int = 0) -> None:
        self.border = border
        self.are_ready = Relief.are_ready
        share = GilShare(sample_s=EPOCHS_S / num_samples, share=1.0, busy=1.0)
        patch.setattr(running, "measure_gil_share", lambda make, _: (make(1), share)[1])
        patch.setattr(Relief, "are_ready", lambda relief: self.has_come(relief))  # noqa: PLW0108 - gets the relief

    def has_come(self, relief: Relief) -> bool:
        """In the place of a look: a border that is let pass, or the wait until the processes are there."""
        if relief.makers is None or relief.in_charge:
            return False
        self.border -= 1
        until_s = time.monotonic() + PATIENCE_S
        while self.border < 0 and not self.are_ready(relief) and relief.makers is not None:
            assert time.monotonic() < until_s, "worker processes do not start"
            time.sleep(0.01)
        return self.border < 0 and relief.makers is not None
