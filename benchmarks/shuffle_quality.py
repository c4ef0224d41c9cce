"""How well windows mix, against a full shuffle: several sizes, one and eight nodes, shards packed sorted and shuffled.

The dataset is that of ImageNet's size: 1,281,167 samples of 1,000 classes in 147 shards of 1 GB. Nothing is read: an
order needs no samples. The figures are the same on every machine; the guide's page on shuffling shows them.

Usage: `python -m benchmarks.shuffle_quality`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from benchmarks import mixing, results, shuffle_page
from headrace.contracts import I64, Layout, Shuffle
from headrace.order import OrderSpec, open_epoch
from headrace.pack.options import PackOptions
from headrace.pack.plan import packing_order

NUM_SAMPLES, NUM_SHARDS, NUM_CLASSES = 1_281_167, 147, 1000
BYTES_PER_SAMPLE = 115_000
BATCH_SIZE = 256
WINDOWS = (1, 2, 4, 8, 16, 32, 64, 147)
"""Shards in a window."""
NODES = (1, 8)


def layout(num_samples: int) -> Layout:
    """Even shards."""
    samples = np.diff(np.arange(NUM_SHARDS + 1, dtype=np.int64) * num_samples // NUM_SHARDS)
    return Layout(samples=samples, sizes=samples * BYTES_PER_SAMPLE)


def order_of(num_samples: int, shuffle: Shuffle, window_shards: int | None = None, nodes: int = 1) -> OrderSpec:
    """An order in windows of so many shards."""
    return OrderSpec(
        layout=layout(num_samples),
        batch_size=BATCH_SIZE,
        canonical_nodes=nodes,
        shuffle=shuffle,
        window_samples=window_shards and window_shards * num_samples // NUM_SHARDS,
        tail="keep",
    )


def epoch_ids(spec: OrderSpec, epoch: int) -> I64:
    """All samples of an epoch in their sequence, shape (samples,)."""
    order = open_epoch(spec, epoch)
    return np.concatenate([order.step(index).ids for index in range(order.num_steps)])


def classes(num_samples: int) -> dict[str, I64]:
    """Class of each sample id: in shards packed class by class, and in shards packed as `headrace pack` does it."""
    in_source = np.arange(num_samples, dtype=np.int64) * NUM_CLASSES // num_samples
    return {"sorted": in_source, "shuffled": in_source[packing_order(num_samples, PackOptions())]}


def measure(spec: OrderSpec, labels: dict[str, I64]) -> dict[str, Any]:
    """Figures of one order."""
    ids, next_ids = epoch_ids(spec, 0), epoch_ids(spec, 1)
    shards = np.repeat(np.arange(NUM_SHARDS), spec.layout.samples)
    return {
        "apart_percent": mixing.apart(ids) * 100,
        "moved_percent": mixing.moved(ids, next_ids) * 100,
        "met_again": mixing.met_again(ids, next_ids, BATCH_SIZE),
        "shards_in_batch": mixing.distinct_in_batch(shards[ids], BATCH_SIZE),
        "classes_in_batch": {name: mixing.distinct_in_batch(of_id[ids], BATCH_SIZE) for name, of_id in labels.items()},
        "effective_batch": {name: mixing.effective_batch(of_id[ids], BATCH_SIZE) for name, of_id in labels.items()},
    }


def figures_of(num_samples: int) -> dict[str, Any]:
    """Figures of all orders."""
    labels = classes(num_samples)
    default = order_of(num_samples, "window")
    return {
        "num_samples": num_samples,
        "num_shards": NUM_SHARDS,
        "num_classes": NUM_CLASSES,
        "batch_size": BATCH_SIZE,
        "default_window_shards": round(default.least_window_samples * NUM_SHARDS / num_samples),
        "none": measure(order_of(num_samples, "none"), labels),
        "full": measure(order_of(num_samples, "full"), labels),
        "windows": [
            {"shards": shards, "nodes": nodes, **measure(order_of(num_samples, "window", shards, nodes), labels)}
            for nodes in NODES
            for shards in WINDOWS
            if shards * nodes <= NUM_SHARDS
        ],
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples")
    args = parser.parse_args()
    results.save("shuffle_quality", figures_of(NUM_SAMPLES // (10 if args.quick else 1)), quick=args.quick)
    if not args.quick:
        shuffle_page.main()


if __name__ == "__main__":
    main()
