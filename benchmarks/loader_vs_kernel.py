"""The whole loader against the bare kernel on as many threads, and two threads against one.

The kernel gets the same photographs from memory, several batches at a time; the loader reads them from shards, and
begins a new epoch on the way, as in training. Both make batches of one size and kind with the same crops' distribution.
Beside it the loader that reads everything ahead of time, as it does where images are not in the page cache.

Both run for a moment before their time is taken, until each has touched the memory that it reuses from then on: what
the start of a loader takes has figures of its own (`first_batch`, `waiting`).

Usage: `python -m benchmarks.loader_vs_kernel`.
"""

from __future__ import annotations

import argparse
import statistics
from unittest import mock

from benchmarks import data, results
from benchmarks.in_memory import Photographs, kernel_speed
from benchmarks.ours import loader_speed
from benchmarks.speed import Speed
from headrace.storage import PageCacheReads

NUM_BATCHES, NUM_ROUNDS = 120, 7


def ahead_speed(shards: list[str], num_batches: int) -> Speed:
    """Of the loader on two threads when no image is left in the page cache until it is decoded."""
    with mock.patch.object(PageCacheReads, "found", return_value=False):
        return loader_speed(shards, 2, num_batches)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    args = parser.parse_args()
    num_batches, num_rounds = (10, 2) if args.quick else (NUM_BATCHES, NUM_ROUNDS)
    photographs, shards = Photographs(data.photographs(args)), data.shards(args)
    rounds = [
        {
            "kernel_1": kernel_speed(photographs, 1, num_batches),
            "kernel_2": kernel_speed(photographs, 2, num_batches),
            "loader_1": loader_speed(shards, 1, num_batches),
            "loader_2": loader_speed(shards, 2, num_batches),
            "ahead_2": ahead_speed(shards, num_batches),
        }
        for _ in range(num_rounds)
    ]

    def ratio(first: str, second: str) -> float:
        return statistics.median(one[first].images_per_s / one[second].images_per_s for one in rounds)

    def cpu_ratio(first: str, second: str) -> float:
        return statistics.median(one[first].cpu_s_per_image / one[second].cpu_s_per_image for one in rounds)

    figures = {
        "of_linear": ratio("kernel_2", "kernel_1") / 2,
        "loader_of_linear": ratio("loader_2", "loader_1") / 2,
        "loader_of_kernel": ratio("loader_2", "kernel_2"),
        "kernel_cpu_of_loader_cpu": cpu_ratio("kernel_2", "loader_2"),
        "cached_of_ahead": ratio("loader_2", "ahead_2"),
        "ahead_cpu_of_cached_cpu": cpu_ratio("ahead_2", "loader_2"),
        "images_per_s": {name: statistics.median(one[name].images_per_s for one in rounds) for name in rounds[0]},
    }
    results.save("loader_vs_kernel", figures, quick=args.quick)


if __name__ == "__main__":
    main()
