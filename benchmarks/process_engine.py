"""The engine of processes beside threads and torch's workers: its start, a step, a batch of 8 MB, deaths of workers.

Usage: `python -m benchmarks.process_engine`. torch is measured in the same run, by turns; what compares are ratios.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import numpy as np
import psutil
from torch.utils.data import DataLoader, Dataset

from benchmarks import results
from headrace.contracts import Allocate, Engine, Step
from headrace.engine import ByteBudget, ProcessEngine, SlotPool, Stats, ThreadEngine
from headrace.errors import WorkerDiedError

NUM_PATHS, NUM_STARTS, START_WORKERS = 2_000_000, 3, 4
NUM_STEPS, NUM_BATCHES, NUM_ROUNDS, NUM_KILLS = 2000, 100, 3, 100
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


class Paths(Rows):
    """Holds a list of paths; a batch is one of them."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Any:
        """A path."""
        return self.paths[step.index]


class TorchRows(Dataset[Any]):
    """The batches of `Rows` for torch, which copies them into shared memory of its own."""

    def __len__(self) -> int:
        return NUM_BATCHES

    def __getitem__(self, index: int) -> Any:
        return np.full((BATCH_BYTES,), index & 255, np.uint8)


class TorchPaths(Dataset[str]):
    """The list of `Paths` for torch."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> str:
        return self.paths[index]


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


def first_batch_s(paths: list[str]) -> float:
    """From the call of `run` to the first batch."""
    with closing(processes(Paths(paths), START_WORKERS)) as engine:
        return seconds(lambda: next(engine.run(steps(10))))


def torch_first_batch_s(paths: list[str], method: str) -> float:
    """The same with torch's workers, started by "spawn" or "forkserver"."""
    loader = DataLoader(TorchPaths(paths), num_workers=START_WORKERS, multiprocessing_context=method)
    return seconds(lambda: next(iter(loader)))


def late_s(engine: Engine, dice: random.Random) -> float | None:
    """Kills a random worker at a random time: seconds until the consumer is told; None where he is not."""
    stream = engine.run(steps(1 << 40))
    for _ in range(dice.randrange(1, 50)):
        next(stream)
    time.sleep(dice.random() * 0.02)
    dice.choice(psutil.Process().children()).kill()
    killed_s = time.perf_counter()
    try:
        for _ in stream:
            pass
    except WorkerDiedError:
        return time.perf_counter() - killed_s
    return None


def kills(num: int) -> dict[str, float]:
    """Random workers are killed at random times: how many were told, how late at most, and what was left."""
    dice, before = random.Random(0), psutil.Process().num_fds()
    with closing(processes(Untouched(), 3, preload=())) as engine:
        late = [late_s(engine, dice) for _ in range(num)]
    told = [one for one in late if one is not None]
    left = len(psutil.Process().children(recursive=True)) + psutil.Process().num_fds() - before
    return {"num": num, "told": len(told), "latest_s": max(told), "left": left}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the size")
    args = parser.parse_args()
    part = 10 if args.quick else 1
    paths = [f"/data/train/n{i % 1000:08d}/n{i % 1000:08d}_{i}.JPEG" for i in range(NUM_PATHS // part)]
    starts = [
        (first_batch_s(paths), torch_first_batch_s(paths, "spawn"), torch_first_batch_s(paths, "forkserver"))
        for _ in range(NUM_STARTS if part == 1 else 1)
    ]
    rounds = [(batch_ms_of_engine(NUM_BATCHES), batch_ms_of_torch(NUM_BATCHES)) for _ in range(NUM_ROUNDS)]
    with closing(threads(Untouched())) as of_threads, closing(processes(Untouched())) as of_processes:
        costs = [(step_us(of_threads, NUM_STEPS // part), step_us(of_processes, NUM_STEPS // part)) for _ in range(3)]
    ours_s, spawn_s, forkserver_s = (statistics.median(column) for column in zip(*starts, strict=True))
    figures = {
        "first_batch_s": ours_s,
        "first_batch_torch_spawn_s": spawn_s,
        "first_batch_torch_forkserver_s": forkserver_s,
        "step_threads_us": statistics.median(of_threads_us for of_threads_us, _ in costs),
        "step_processes_us": statistics.median(of_processes_us for _, of_processes_us in costs),
        "batch_8mb_ms": statistics.median(ours for ours, _ in rounds),
        "batch_8mb_torch_ms": statistics.median(theirs for _, theirs in rounds),
        "batch_8mb_times_torch": statistics.median(theirs / ours for ours, theirs in rounds),
        "kills": kills(NUM_KILLS // part),
    }
    results.save("process_engine", figures, quick=args.quick)


if __name__ == "__main__":
    main()
