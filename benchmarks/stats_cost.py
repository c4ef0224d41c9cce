"""What statistics cost: nanoseconds an event times events a step, as a share of a step.

Usage: `python -m benchmarks.stats_cost`.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from benchmarks import data, results
from benchmarks.ours import forever, open_loader
from headrace.engine import Stats

NUM_EVENTS, NUM_STEPS = 200_000, 186

EVENTS: dict[str, tuple[Any, ...]] = {
    "add": ("decode", 1e-3),
    "wait": ("deliver", 1e-3),
    "count": ("skipped",),
    "fill": ("ready", 2, 4),
}
"""The calls that stages make, with typical arguments."""


def event_ns(name: str, num_events: int) -> float:
    """Nanoseconds of one call, without another thread in the way."""
    call = getattr(Stats(), name)
    began = time.perf_counter()
    for _ in range(num_events):
        call(*EVENTS[name])
    return (time.perf_counter() - began) / num_events * 1e9


def counting(name: str, counts: Counter[str]) -> Callable[..., None]:
    """The method of that name, which also counts its calls."""
    method = getattr(Stats, name)

    def counted(self: Stats, *args: Any, **options: Any) -> None:
        counts[name] += 1
        method(self, *args, **options)

    return counted


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    args = parser.parse_args()
    num_events, num_steps = (20_000, 62) if args.quick else (NUM_EVENTS, NUM_STEPS)
    costs_ns = {name: event_ns(name, num_events) for name in EVENTS}
    counts: Counter[str] = Counter()
    for name in EVENTS:
        setattr(Stats, name, counting(name, counts))
    loader = open_loader(data.shards(args))
    batches = forever(loader)
    next(batches)
    counts.clear()
    began = time.perf_counter()
    for _ in range(num_steps):
        next(batches)
    step_ns = (time.perf_counter() - began) / num_steps * 1e9
    loader.close()
    events = {name: counts[name] / num_steps for name in EVENTS}
    cost_ns = sum(costs_ns[name] * events[name] for name in EVENTS)
    figures = {
        "event_ns": costs_ns,
        "events_a_step": events,
        "step_ms": step_ns / 1e6,
        "percent_of_step": cost_ns / step_ns * 100,
    }
    results.save("stats_cost", figures, quick=args.quick)


if __name__ == "__main__":
    main()
