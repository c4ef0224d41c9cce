"""The engine of processes beside threads and torch's workers: what a step and a batch of 8 MB cost.

Usage: `python -m benchmarks.process_engine`. torch is measured in the same run, by turns; what compares are ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
from torch.utils.data import DataLoader, Dataset

from benchmarks import results
from headrace.contracts import Allocate, Engine, Step
from headrace.engine import ByteBudget, ProcessEngine, SlotPool, Stats, ThreadEngine

NUM_STEPS, NUM_BATCHES, NUM_ROUNDS = 2000, 100, 3
BATCH_BYTES = 8 << 20
NUM_WORKERS = 2


class Rows:
    """Batches of 8 MB, each filled with a number."""

    def size_bytes(self, step: Step) -> int:
        """What a batch takes."""
        return BATCH_BYTES

    def fetch(self, step: Step, allocate: Allocate) -> Any:
        """Nothing."""

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Any:
        """A batch in the slot."""
        batch = allocate((BATCH_BYTES,), np.uint8)
        batch.fill(step.index & 255)
        return batch


class Untouched(Rows):
    """The same memory, left as it is: a step without work."""

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Any:
        """Memory alone."""
        return allocate((BATCH_BYTES,), np.uint8)


class TorchRows(Dataset[Any]):
    """The batches of `Rows` for torch, which copies them into shared memory of its own."""

    def __len__(self) -> int:
        return NUM_BATCHES

    def __getitem__(self, index: int) -> Any:
        return np.full((BATCH_BYTES,), index & 255, np.uint8)


def steps(num: int) -> Iterator[Step]:
    """Steps of one row each."""
    ids, valid = np.zeros(1, np.int64), np.ones(1, np.bool_)
    return (Step(index=index, epoch=0, ids=ids, valid=valid) for index in range(num))


def processes(work: Any, num_workers: int = NUM_WORKERS, preload: tuple[str, ...] = ("torch",)) -> ProcessEngine:
    """The engine that is measured."""
    budget = ByteBudget(256 << 20)
    return ProcessEngine(work, num_workers=num_workers, budget=budget, recorder=Stats(), preload=preload)


def threads(work: Any) -> ThreadEngine:
    """The engine of threads."""
    budget = ByteBudget(256 << 20)
    return ThreadEngine(work, num_workers=2, num_io_threads=2, budget=budget, slots=SlotPool(), recorder=Stats())


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began_s = time.perf_counter()
    call()
    return time.perf_counter() - began_s


def step_us(engine: Engine, num: int) -> float:
    """Microseconds a step; the processes are there already."""
    for _ in engine.run(steps(8)):
        pass
    return seconds(lambda: [None for _ in engine.run(steps(num))]) / num * 1e6


def batch_ms_of_engine(num: int) -> float:
    """Milliseconds of a batch that the consumer looks at, page by page."""
    with closing(processes(Rows())) as engine:
        for _ in engine.run(steps(16)):
            pass
        return seconds(lambda: [look(delivered.batch) for delivered in engine.run(steps(num))]) / num * 1e3


def batch_ms_of_torch(num: int) -> float:
    """The same with torch's workers."""
    loader = DataLoader(TorchRows(), batch_size=None, num_workers=NUM_WORKERS, persistent_workers=True)
    batches = iter(loader)
    for _ in range(16):
        look(next(batches))
    return seconds(lambda: [look(batch) for batch, _ in zip(batches, range(num - 16), strict=False)]) / (num - 16) * 1e3


def look(batch: Any) -> int:
    """Reads a byte of each page."""
    return int(batch[::4096].sum())


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    args = parser.parse_args()
    part = 10 if args.quick else 1
    rounds = [(batch_ms_of_engine(NUM_BATCHES), batch_ms_of_torch(NUM_BATCHES)) for _ in range(NUM_ROUNDS)]
    with closing(threads(Untouched())) as of_threads, closing(processes(Untouched())) as of_processes:
        costs = [(step_us(of_threads, NUM_STEPS // part), step_us(of_processes, NUM_STEPS // part)) for _ in range(3)]
    figures = {
        "step_threads_us": statistics.median(of_threads_us for of_threads_us, _ in costs),
        "step_processes_us": statistics.median(of_processes_us for _, of_processes_us in costs),
        "batch_8mb_ms": statistics.median(ours for ours, _ in rounds),
        "batch_8mb_torch_ms": statistics.median(theirs for _, theirs in rounds),
        "batch_8mb_times_torch": statistics.median(theirs / ours for ours, theirs in rounds),
    }
    results.save("process_engine", figures, quick=args.quick)


if __name__ == "__main__":
    main()
