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
BATCH_SIZE, WORLD_SIZE = 256, 8
NUM_BATCHES = 320

MODES: dict[str, tuple[Shuffle, int]] = {
    "none": ("none", 1),
    "full": ("full", 1),
    "window, 1 node": ("window", 1),
    "window, 2 nodes": ("window", 2),
    "window, 8 nodes": ("window", 8),
}
"""Shuffle and canonical nodes."""


def spec(shuffle: Shuffle, nodes: int = 1, *, batch_size: int = BATCH_SIZE, world_size: int = WORLD_SIZE) -> OrderSpec:
    """An order over shards of 1 GB: windows of 40,000 samples."""
    samples = np.full(NUM_SHARDS, SAMPLES_PER_SHARD, dtype=np.int64)
    return OrderSpec(
        layout=Layout(samples=samples, sizes=samples * BYTES_PER_SAMPLE),
        batch_size=batch_size,
        world_size=world_size,
        canonical_nodes=nodes,
        shuffle=shuffle,
    )


def best_ms(work: Callable[[], Any], repeats: int = 5) -> float:
    """The shortest of some runs, in milliseconds of the processor: other work on the machine does not lengthen them."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times) * 1e3


def peak_mb(work: Callable[[], Any]) -> float:
    """The most memory held at any moment of a run, in megabytes."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / 1e6


def measure(shuffle: Shuffle, nodes: int, num_batches: int) -> dict[str, float]:
    """Figures of one mode."""
    one = spec(shuffle, nodes)
    middle = one.num_samples // one.global_batch // 2

    def jump(to: int) -> Callable[[], Any]:
        return lambda: open_epoch(one, 1).step(to, rank=5)

    order = open_epoch(one, 1)

    def batches() -> None:
        for index in range(middle, middle + num_batches):
            order.step(index, rank=5)

    return {
        "open_ms": best_ms(lambda: open_epoch(one, 1)),
        "open_and_first_batch_ms": best_ms(jump(0)),
        "open_and_jump_to_middle_ms": best_ms(jump(middle)),
        "open_mb": peak_mb(jump(middle)),
        "batch_us": best_ms(batches, repeats=20) / num_batches * 1e3,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer batches")
    args = parser.parse_args()
    num_batches = NUM_BATCHES // (2 if args.quick else 1)
    figures = {name: measure(*mode, num_batches) for name, mode in MODES.items()}
    worst = {
        "open_ms": max(one["open_and_jump_to_middle_ms"] for one in figures.values()),
        "open_mb": max(one["open_mb"] for one in figures.values()),
        "batch_us": max(one["batch_us"] for one in figures.values()),
    }
    results.save("order", {**worst, "modes": figures}, quick=args.quick)


if __name__ == "__main__":
    main()
