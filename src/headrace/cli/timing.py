"""Times a loader."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """What a loader delivered."""

    num_samples: int
    """After the first batch."""
    time_s: float
    """From the first batch to the last."""
    first_batch_s: float
    """From asking for an iterator to its first batch."""

    @property
    def samples_per_s(self) -> float:
        """Rate after the first batch."""
        return self.num_samples / self.time_s if self.time_s else 0.0


def measure(loader: Iterable[Any], duration_s: float) -> Timing:
    """Iterates a loader for a while, over as many epochs as that takes, and at least one batch beyond the first."""
    begun_s = time.perf_counter()
    batches = iter(loader)
    next(batches)
    first_s = now_s = time.perf_counter()
    num_samples = 0
    while num_samples == 0 or now_s < first_s + duration_s:
        batch = next(batches, None)
        if batch is None:
            batches = iter(loader)
            continue
        num_samples += num_rows(batch)
        now_s = time.perf_counter()
    return Timing(num_samples=num_samples, time_s=now_s - first_s, first_batch_s=first_s - begun_s)


def num_rows(batch: Any) -> int:
    """Samples of a batch: the length of its first array or tensor."""
    while isinstance(batch, (dict, tuple, list)):
        batch = next(iter(batch.values() if isinstance(batch, dict) else batch))
    return len(batch)


def together(timings: list[Timing]) -> Timing:
    """Several rounds of one loader as one."""
    return Timing(
        num_samples=sum(timing.num_samples for timing in timings),
        time_s=sum(timing.time_s for timing in timings),
        first_batch_s=min(timing.first_batch_s for timing in timings),
    )
