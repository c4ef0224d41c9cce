"""What a loader has measured, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class DurationStats:
    """Durations of one kind. Quantiles are exact to 4.5 %."""

    num: int
    total_s: float
    p50_s: float
    p95_s: float
    p99_s: float
    max_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStats:
    """One stage of the pipeline."""

    busy: DurationStats
    """Pieces of work; several threads may be busy at once, so the total may pass the elapsed time."""
    waiting: DurationStats
    """Times at which the stage had to wait."""
    items: int
    """Samples that went through."""
    size_bytes: int
    """Bytes that went through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueStats:
    """How full a queue was when it was looked at."""

    num_looks: int
    mean: float
    max: int
    capacity: int
    """At the last look."""
    empty_share: float
    """Share of the looks that found it empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StatsSnapshot:
    """Everything measured, up to one moment."""

    elapsed_s: float
    """Time since the measuring began."""
    stages: Mapping[str, StageStats]
    counts: Mapping[str, int]
    queues: Mapping[str, QueueStats]

    def as_dict(self) -> dict[str, Any]:
        """Plain dicts, numbers and strings, ready for JSON."""
        return asdict(self)
