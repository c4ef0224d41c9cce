"""What a loader has measured, as a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headrace._base.units import format_bytes, format_seconds

TITLES = ("stage", "samples", "busy", "waiting", "p50", "p99", "samples/s", "bytes")


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
    """How many it could have held at the last look."""
    empty_share: float
    """Share of the looks that found it empty, so that the training loop had to wait."""


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

    def __str__(self) -> str:
        """The stages as a table of 80 columns, then queues and counts; `samples/s` is that of one busy thread."""
        rows = [TITLES, *(_cells(name, stage) for name, stage in self.stages.items())]
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join((row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]))).rstrip() for row in rows]
        lines += [
            f"queue {name}: {queue.mean:.1f} of {queue.capacity} on average, empty {queue.empty_share:.0%} of the times"
            for name, queue in self.queues.items()
        ]
        if self.counts:
            lines.append("counted: " + ", ".join(f"{name} {num:,}" for name, num in self.counts.items()))
        return "\n".join(lines)


def _cells(name: str, stage: StageStats) -> tuple[str, ...]:
    busy = stage.busy
    return (
        name,
        f"{stage.items:,}",
        format_seconds(busy.total_s),
        format_seconds(stage.waiting.total_s),
        format_seconds(busy.p50_s),
        format_seconds(busy.p99_s),
        f"{stage.items / busy.total_s:,.0f}" if busy.total_s else "",
        format_bytes(stage.size_bytes) if stage.size_bytes else "",
    )
