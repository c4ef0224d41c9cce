"""What the order costs for 10^9 samples in 100,000 shards. Usage: `python -m benchmarks.order`."""

from __future__ import annotations

import argparse
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import results
from headrace.contracts import Layout, Shuffle
from headrace.order import OrderSpec, open_epoch

NUM_SHARDS = 100_000
SAMPLES_PER_SHARD = 10_000
BYTES_PER_SAMPLE = 100_000
BATCH_SIZE, WORLD_SIZE, NUM_NODES = 256, 8, 4
NUM_BATCHES = 2000


def spec(shuffle: Shuffle) -> OrderSpec:
    """8 ranks on 4 nodes; shards of 1 GB."""
    samples = np.full(NUM_SHARDS, SAMPLES_PER_SHARD, dtype=np.int64)
    return OrderSpec(
        layout=Layout(samples=samples, sizes=samples * BYTES_PER_SAMPLE),
        batch_size=BATCH_SIZE,
        world_size=WORLD_SIZE,
        canonical_nodes=NUM_NODES if shuffle == "window" else 1,
        shuffle=shuffle,
    )


def best_ms(work: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of some runs, in milliseconds."""
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        work()
        times.append(time.perf_counter() - began)
    return min(times) * 1e3


def peak_mb(work: Callable[[], Any]) -> float:
    """The most memory held at any moment of a run, in megabytes."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measure(shuffle: Shuffle, num_batches: int) -> dict[str, float]:
    """Figures of one mode."""
    one = spec(shuffle)
    middle = one.num_samples // one.global_batch // 2

    def jump(to: int) -> Callable[[], Any]:
        return lambda: open_epoch(one, 1).step(to, rank=5)

    order = open_epoch(one, 1)
    began = time.perf_counter()
    for index in range(middle, middle + num_batches):
        order.step(index, rank=5)
    batch_us = (time.perf_counter() - began) / num_batches * 1e6
    return {
        "open_ms": best_ms(lambda: open_epoch(one, 1)),
        "open_and_first_batch_ms": best_ms(jump(0)),
        "open_and_jump_to_middle_ms": best_ms(jump(middle)),
        "open_mb": peak_mb(jump(middle)),
        "batch_us": batch_us,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer batches")
    args = parser.parse_args()
    modes: tuple[Shuffle, ...] = ("none", "full", "window")
    figures = {mode: measure(mode, NUM_BATCHES // (10 if args.quick else 1)) for mode in modes}
    worst = {
        "open_ms": max(one["open_and_jump_to_middle_ms"] for one in figures.values()),
        "open_mb": max(one["open_mb"] for one in figures.values()),
        "batch_us": max(one["batch_us"] for one in figures.values()),
    }
    results.save("order", {**worst, "modes": figures}, quick=args.quick)


if __name__ == "__main__":
    main()
