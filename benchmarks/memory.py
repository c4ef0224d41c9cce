"""Private memory (USS) of a process that iterates over the photographs for ten epochs.

Usage: `python -m benchmarks.memory`.
"""

from __future__ import annotations

import argparse
import gc

import psutil

from benchmarks import data, results
from benchmarks.ours import open_loader

NUM_EPOCHS = 10


def private_mb() -> float:
    """Memory that would be free if this process ended, in megabytes."""
    gc.collect()
    return float(psutil.Process().memory_full_info().uss) / 1e6


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    data.add_arguments(parser)
    args = parser.parse_args()
    loader = open_loader(data.shards(args))
    epochs_mb, num_images = [], 0
    for _ in range(2 if args.quick else NUM_EPOCHS):
        for images, _labels in loader:
            num_images += len(images)
        del images, _labels
        epochs_mb.append(private_mb())
    figures = {
        "num_epochs": len(epochs_mb),
        "num_images": num_images,
        "first_epoch_mb": epochs_mb[0],
        "epochs_mb": epochs_mb,
        "growth_percent": (max(epochs_mb[1:], key=lambda mb: abs(mb - epochs_mb[0])) / epochs_mb[0] - 1) * 100,
    }
    results.save("memory", figures, quick=args.quick)


if __name__ == "__main__":
    main()
