"""The photographs in memory, and the bare kernel on them: no dataset, no order, no loader."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.loaders import labelled
from benchmarks.speed import Speed, speed_of
from benchmarks.works import BATCH_SIZE, NUM_FIRST_BATCHES, SIDE
from headrace._native import Geometry, Pool, run_jpegs

NUM_CALLERS = 3
"""Batches that are in the pool at once, so that no thread runs out of work at the end of a batch."""


class Photographs:
    """The encoded photographs of a folder tree, in a random order.

    Args:
        folder: The tree.
        seed: Of the order.
    """

    def __init__(self, folder: Path, seed: int = 0) -> None:
        files = [path for path, _ in labelled(folder)]
        order = np.random.default_rng(seed).permutation(len(files))
        self.data = [np.fromfile(files[number], dtype=np.uint8) for number in order]
        self.addresses = np.array([item.ctypes.data for item in self.data], dtype=np.uint64)
        self.sizes = np.array([item.nbytes for item in self.data], dtype=np.uint64)

    def batch(self, number: int) -> slice:
        """The rows of a batch; after the last one the first follows."""
        first = number % (len(self.data) // BATCH_SIZE) * BATCH_SIZE
        return slice(first, first + BATCH_SIZE)


def random_resized_crop() -> Geometry:
    """RandomResizedCrop(224) and a flip."""
    return Geometry(
        kind="random_resized_crop",
        height=SIDE,
        width=SIDE,
        log_ratio=(math.log(3 / 4), math.log(4 / 3)),
        crop_op=0,
        flip_probability=0.5,
        flip_op=1,
    )


def kernel_speed(photographs: Photographs, num_threads: int, num_batches: int) -> Speed:
    """Of the kernel on this many threads of its own, after `NUM_FIRST_BATCHES`."""
    geometry, pool = random_resized_crop(), Pool(num_threads)
    outs = [np.zeros((BATCH_SIZE, 3, SIDE, SIDE), dtype=np.uint8) for _ in range(NUM_CALLERS + 1)]
    rows = np.arange(BATCH_SIZE, dtype=np.int64)

    def run(number: int) -> None:
        where = photographs.batch(number)
        keys = np.arange(number * BATCH_SIZE, (number + 1) * BATCH_SIZE, dtype=np.uint64)
        out = outs[number % len(outs)]
        report = run_jpegs(pool, geometry, photographs.addresses[where], photographs.sizes[where], keys, out, rows)
        if report.status.any():
            raise SystemExit(f"photograph {int(np.flatnonzero(report.status)[0])} of batch {number} was not decoded")

    with ThreadPoolExecutor(NUM_CALLERS) as callers:
        list(callers.map(run, range(NUM_FIRST_BATCHES)))
        speed = speed_of(lambda: list(callers.map(run, range(num_batches))), num_batches * BATCH_SIZE)
    pool.close()
    return speed
