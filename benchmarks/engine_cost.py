"""What the engine itself costs: leases of batch memory, a step whose work is nothing, a batch that is ready.

Usage: `python -m benchmarks.engine_cost`.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks import results
from headrace.contracts import Allocate, Step
from headrace.engine import ByteBudget, InlineEngine, SlotPool, Stats, ThreadEngine

BATCH_SHAPE = (64, 3, 224, 224)
NUM_LEASES, NUM_STEPS, NUM_READY, NUM_EPOCHS, NUM_FILLS = 100_000, 20_000, 500, 50, 40
PAUSE_S = 0.002
"""A consumer's step, long enough for the next batch to be ready."""


class NoWork:
    """Steps that cost nothing and take the memory of a batch."""

    def size_bytes(self, step: Step) -> int:
        """As a batch of uint8."""
        return int(np.prod(BATCH_SHAPE))

    def fetch(self, step: Step, allocate: Allocate) -> Any:
        """Nothing."""

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Any:
        """Memory that is left as it is."""
        return allocate(BATCH_SHAPE, np.uint8)


def steps(num: int) -> Iterator[Step]:
    """Steps of one batch each."""
    ids, valid = np.arange(BATCH_SHAPE[0]), np.ones(BATCH_SHAPE[0], dtype=np.bool_)
    return (Step(index=index, epoch=0, ids=ids, valid=valid) for index in range(num))


def threads() -> ThreadEngine:
    """An engine with two workers."""
    budget, slots, stats = ByteBudget(256 << 20), SlotPool(), Stats()
    return ThreadEngine(NoWork(), num_workers=2, num_io_threads=4, budget=budget, slots=slots, recorder=stats)


def step_us(engine: ThreadEngine | InlineEngine, num: int) -> float:
    """Microseconds a step, consumer and threads together, when nothing is to be done."""
    began = time.perf_counter()
    for _ in engine.run(steps(num)):
        pass
    return (time.perf_counter() - began) / num * 1e6


def ready_us(num: int) -> list[float]:
    """Microseconds of each `next` whose batch is ready."""
    stream = threads().run(steps(num))
    taken = []
    for _ in range(num):
        time.sleep(PAUSE_S)
        began = time.perf_counter()
        next(stream)
        taken.append((time.perf_counter() - began) * 1e6)
    return taken


def epoch_us(num: int) -> float:
    """Microseconds of an epoch of one step: threads are started, used and ended."""
    engine = threads()
    return statistics.median(step_us(engine, 1) for _ in range(num))


def lease_us(num: int) -> float:
    """Microseconds of a lease that finds a free block, its return included."""
    slots = SlotPool()
    began = time.perf_counter()
    for _ in range(num):
        slots.allocate(BATCH_SHAPE, np.uint8)
    return (time.perf_counter() - began) / num * 1e6


def fill_ms(allocate: Callable[[], Any], num: int) -> float:
    """Milliseconds of writing to all of a batch for the first time."""
    taken = []
    for _ in range(num):
        batch = allocate()
        began = time.perf_counter()
        batch.fill(1)
        taken.append((time.perf_counter() - began) * 1e3)
    return statistics.median(taken)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    args = parser.parse_args()
    part = 10 if args.quick else 1
    slots = SlotPool()
    inline = InlineEngine(NoWork(), slots=slots, recorder=Stats())
    ready = ready_us(NUM_READY // part)
    figures = {
        "lease_us": lease_us(NUM_LEASES // part),
        "fill_slot_ms": fill_ms(lambda: slots.allocate(BATCH_SHAPE, np.uint8), NUM_FILLS),
        "fill_fresh_ms": fill_ms(lambda: SlotPool().allocate(BATCH_SHAPE, np.uint8), NUM_FILLS),
        "step_threads_us": step_us(threads(), NUM_STEPS // part),
        "step_inline_us": step_us(inline, NUM_STEPS // part),
        "next_ready_p50_us": statistics.median(ready),
        "next_ready_p95_us": statistics.quantiles(ready, n=20)[-1],
        "epoch_of_one_step_us": epoch_us(NUM_EPOCHS // part),
    }
    results.save("engine_cost", figures, quick=args.quick)


if __name__ == "__main__":
    main()
