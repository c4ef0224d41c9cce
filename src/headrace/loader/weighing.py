"""Looks at the samples of a batch while Python makes them: whether memory will be there for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from headrace._base.headroom import ASK_EVERY_BYTES, MemoryGuard
from headrace._base.units import count, format_bytes
from headrace.loader.made import tensor_bytes

LOOK_EVERY_S = 0.02
"""Python fills some 100 MB of memory in this time at best. Where a sample takes less, nothing is asked of it."""


class Weighing:
    """What the samples of one batch weigh, the first one at once, then from time to time.

    The loader holds samples while it puts them together, so a batch takes twice its size for a moment; the engine knows
    nothing of memory that Python code takes by itself.

    Args:
        num_rows: Samples of the batch.
        guard: Knows what memory is left.
    """

    def __init__(self, num_rows: int, guard: MemoryGuard) -> None:
        self.num_rows = num_rows
        self.guard = guard
        self.num_weighed = 0
        self.size_bytes = 0
        self.look_s = 0.0

    def look(self, samples: Sequence[Any]) -> None:
        """Weighs the samples up to now: the first one, and later ones where making them has taken a while.

        Raises:
            MemoryBudgetError: What is left of the batch, or putting it together, needs more memory than there is.
        """
        now_s = perf_counter()
        if now_s < self.look_s:
            return
        self.size_bytes += tensor_bytes(samples[self.num_weighed :])
        self.num_weighed = len(samples)
        mean_bytes = self.size_bytes // self.num_weighed
        # The samples that are still to be made, and all of them in one piece.
        needed_bytes = (2 * self.num_rows - self.num_weighed) * mean_bytes
        if needed_bytes >= ASK_EVERY_BYTES:
            rows = count(self.num_rows, "sample")
            self.guard.check(needed_bytes, f"the rest of a batch of {rows} of {format_bytes(mean_bytes)}")
        self.look_s = perf_counter() + LOOK_EVERY_S
