"""Workers that are killed at random: what the trainer is told, how late, and what is left.

A hundred times, one of three worker processes gets SIGKILL at a random time: while it starts, amid steps, between them.
What counts is an error that names the worker, the seconds from the kill to that error, and what is there afterwards
that was not there before: processes, descriptors, files in /dev/shm. A run that hangs is ended, with its stacks, after
two minutes without a word. Linux only. Usage: `python -m benchmarks.kills [--quick]`; about a minute.
"""

from __future__ import annotations

import argparse
import faulthandler
import gc
import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks import results
from headrace.contracts import Allocate, Step
from headrace.engine import ByteBudget, ProcessEngine, Stats
from headrace.errors import WorkerDiedError

NUM_KILLS, NUM_WORKERS = 100, 3
BATCH_BYTES = 1 << 20
LATEST_KILL_S = 1.0
"""A worker is killed within this time of the start of an iteration: interpreters take a part of it to start."""
MOST_SILENCE_S = 120
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - where Linux keeps it
SETTLE_S = 5.0


class Work:
    """Batches of 1 MB that take up to 4 ms."""

    def size_bytes(self, step: Step) -> int:
        """What a batch takes."""
        return BATCH_BYTES

    def fetch(self, step: Step, allocate: Allocate) -> Any:
        """Nothing."""

    def run(self, step: Step, fetched: Any, allocate: Allocate) -> Any:
        """A batch in the slot."""
        time.sleep(step.index % 5 * 1e-3)
        batch = allocate((BATCH_BYTES,), np.uint8)
        batch.fill(step.index & 255)
        return batch


def steps() -> Iterator[Step]:
    """Steps without end."""
    ids, valid = np.zeros(1, np.int64), np.ones(1, np.bool_)
    index = 0
    while True:
        yield Step(index=index, epoch=0, ids=ids, valid=valid)
        index += 1


class Killer(threading.Thread):
    """Kills a random worker at a random time, also while they start."""

    def __init__(self, dice: random.Random) -> None:
        super().__init__(name="killer")
        self.dice = dice
        self.wait_s = dice.random() * LATEST_KILL_S
        self.killed_pid = 0
        self.killed_s = 0.0

    def run(self) -> None:
        """Waits, then kills."""
        time.sleep(self.wait_s)
        while not (workers := psutil.Process().children(recursive=True)):
            time.sleep(0.001)
        victim = self.dice.choice(workers)
        self.killed_pid, self.killed_s = victim.pid, time.perf_counter()
        victim.kill()


def kill_one(engine: ProcessEngine, dice: random.Random) -> dict[str, Any]:
    """An iteration in which a worker is killed: how late the consumer is told, and whether the worker is named."""
    killer = Killer(dice)
    killer.start()
    try:
        for _ in engine.run(steps()):
            pass
    except WorkerDiedError as error:
        late_s = time.perf_counter() - killer.killed_s
        is_named = str(killer.killed_pid) in str(error) and "SIGKILL" in str(error)
        return {"late_s": late_s, "is_named": is_named}
    finally:
        killer.join()
    raise RuntimeError("an iteration without end has ended")


def inventory() -> dict[str, set[Any]]:
    """Processes, descriptors and shared memory that are there."""
    gc.collect()
    return {
        "processes": {child.pid for child in psutil.Process().children(recursive=True)},
        "descriptors": {int(entry.name) for entry in Path("/proc/self/fd").iterdir() if entry.exists()},
        "shared_memory": {entry.name for entry in SHARED_MEMORY.iterdir() if not entry.name.startswith("sem.")},
    }


def left_since(before: dict[str, set[Any]]) -> dict[str, int]:
    """What has come, after a moment to settle."""
    until_s = time.monotonic() + SETTLE_S
    while True:
        now = inventory()
        left = {kind: len(things - before[kind]) for kind, things in now.items()}
        if not any(left.values()) or time.monotonic() > until_s:
            return left
        time.sleep(0.05)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the kills")
    args = parser.parse_args()
    num_kills = NUM_KILLS // 10 if args.quick else NUM_KILLS
    dice, told = random.Random(0), []
    budget = ByteBudget(64 << 20)
    before = inventory()
    engine = ProcessEngine(Work(), num_workers=NUM_WORKERS, budget=budget, recorder=Stats(), preload=())
    with closing(engine):
        for _ in range(num_kills):
            faulthandler.dump_traceback_later(MOST_SILENCE_S, exit=True)
            told.append(kill_one(engine, dice))
    faulthandler.cancel_dump_traceback_later()
    del engine
    figures = {
        "num": num_kills,
        "told": len(told),
        "named": sum(one["is_named"] for one in told),
        "latest_s": max(one["late_s"] for one in told),
        "left": left_since(before),
    }
    results.save("kills", figures, quick=args.quick)


if __name__ == "__main__":
    main()
