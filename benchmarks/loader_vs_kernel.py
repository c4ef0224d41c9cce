"""The whole loader against the bare kernel on as many threads, and two threads against one.

Usage: `python -m benchmarks.loader_vs_kernel`.
"""

from __future__ import annotations

import argparse
import statistics

from benchmarks import data, results
from benchmarks.in_memory import Photographs, kernel_images_per_s
from benchmarks.ours import images_per_s

NUM_BATCHES, NUM_ROUNDS = 90, 5


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    args = parser.parse_args()
    num_batches, num_rounds = (10, 2) if args.quick else (NUM_BATCHES, NUM_ROUNDS)
    photographs, shards = Photographs(data.photographs(args)), data.shards(args)
    rounds = [
        {
            "kernel_1": kernel_images_per_s(photographs, 1, num_batches),
            "kernel_2": kernel_images_per_s(photographs, 2, num_batches),
            "loader_1": images_per_s(shards, 1, num_batches),
            "loader_2": images_per_s(shards, 2, num_batches),
        }
        for _ in range(num_rounds)
    ]

    def ratio(first: str, second: str) -> float:
        return statistics.median(one[first] / one[second] for one in rounds)

    figures = {
        "of_linear": ratio("kernel_2", "kernel_1") / 2,
        "loader_of_linear": ratio("loader_2", "loader_1") / 2,
        "loader_of_kernel": ratio("loader_2", "kernel_2"),
        "images_per_s": {name: statistics.median(one[name] for one in rounds) for name in rounds[0]},
    }
    results.save("loader_vs_kernel", figures, quick=args.quick)


if __name__ == "__main__":
    main()
