"""Running sums behind the statistics of a loader. Not locked: `Stats` does that."""

from __future__ import annotations

from collections import Counter, defaultdict
from math import log

from headrace.engine.histogram import LOG_SCALE, NUM_BUCKETS, OFFSET, SHORTEST_S, quantile
from headrace.engine.snapshot import DurationStats, QueueStats, StageStats, StatsSnapshot


class DurationMeter:
    """Sums up durations of one kind in bounded memory."""

    __slots__ = ("buckets", "max_s", "num", "total_s")

    def __init__(self) -> None:
        self.buckets = [0] * NUM_BUCKETS
        self.num = 0
        self.total_s = 0.0
        self.max_s = 0.0

    def add(self, duration_s: float) -> None:
        """Counts one duration. In line, without calls of our own: this runs for every event."""
        bucket = 0 if duration_s < SHORTEST_S else int(log(duration_s) * LOG_SCALE + OFFSET)
        self.buckets[bucket if bucket < NUM_BUCKETS else -1] += 1
        self.num += 1
        self.total_s += duration_s
        if duration_s > self.max_s:  # noqa: PLR1730 - a call costs more, and this is done for every event
            self.max_s = duration_s

    def merge(self, other: DurationMeter) -> None:
        """Adds what another meter has summed up."""
        self.buckets = [mine + theirs for mine, theirs in zip(self.buckets, other.buckets, strict=True)]
        self.num += other.num
        self.total_s += other.total_s
        self.max_s = max(self.max_s, other.max_s)

    def freeze(self) -> DurationStats:
        """The sums as a value; no quantile is told above the maximum."""
        p50_s, p95_s, p99_s = (min(quantile(self.buckets, share), self.max_s) for share in (0.5, 0.95, 0.99))
        return DurationStats(
            num=self.num, total_s=self.total_s, p50_s=p50_s, p95_s=p95_s, p99_s=p99_s, max_s=self.max_s
        )


class StageMeter:
    """Sums of one stage."""

    __slots__ = ("busy", "items", "size_bytes", "waiting")

    def __init__(self) -> None:
        self.busy = DurationMeter()
        self.waiting = DurationMeter()
        self.items = 0
        self.size_bytes = 0

    def merge(self, other: StageMeter) -> None:
        """Adds what another meter has summed up."""
        self.busy.merge(other.busy)
        self.waiting.merge(other.waiting)
        self.items += other.items
        self.size_bytes += other.size_bytes

    def freeze(self) -> StageStats:
        """The sums as a value."""
        return StageStats(
            busy=self.busy.freeze(), waiting=self.waiting.freeze(), items=self.items, size_bytes=self.size_bytes
        )


class QueueMeter:
    """Looks at one queue."""

    __slots__ = ("capacity", "max", "num_empty", "num_looks", "total")

    def __init__(self) -> None:
        self.num_looks = 0
        self.num_empty = 0
        self.total = 0
        self.max = 0
        self.capacity = 0

    def add(self, num: int, capacity: int) -> None:
        """Counts one look."""
        self.num_looks += 1
        self.num_empty += num == 0
        self.total += num
        self.capacity = capacity
        self.max = max(self.max, num)

    def merge(self, other: QueueMeter) -> None:
        """Adds what another meter has summed up, as the later one."""
        self.num_looks += other.num_looks
        self.num_empty += other.num_empty
        self.total += other.total
        self.max = max(self.max, other.max)
        self.capacity = other.capacity

    def freeze(self) -> QueueStats:
        """The looks as a value."""
        looks = max(1, self.num_looks)
        return QueueStats(
            num_looks=self.num_looks,
            mean=self.total / looks,
            max=self.max,
            capacity=self.capacity,
            empty_share=self.num_empty / looks,
        )


class Meters:
    """All sums since one moment."""

    __slots__ = ("counts", "queues", "stages", "started_s")

    def __init__(self, started_s: float) -> None:
        self.started_s = started_s
        self.stages: defaultdict[str, StageMeter] = defaultdict(StageMeter)
        self.queues: defaultdict[str, QueueMeter] = defaultdict(QueueMeter)
        self.counts: Counter[str] = Counter()

    def merge(self, other: Meters) -> None:
        """Adds what was measured later."""
        for stage, stage_meter in other.stages.items():
            self.stages[stage].merge(stage_meter)
        for queue, queue_meter in other.queues.items():
            self.queues[queue].merge(queue_meter)
        self.counts.update(other.counts)

    def freeze(self, now_s: float) -> StatsSnapshot:
        """Everything as a value."""
        return StatsSnapshot(
            elapsed_s=now_s - self.started_s,
            stages={name: meter.freeze() for name, meter in self.stages.items()},
            counts=dict(self.counts),
            queues={name: meter.freeze() for name, meter in self.queues.items()},
        )
