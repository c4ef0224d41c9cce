"""How long a trainer waits for data when its step takes 1.05 times what the loader needs for a batch.

The step sleeps, as the process does while a GPU works, or keeps a core busy. 300 steps are one epoch of the
photographs several times over; the first batch is included. Usage: `python -m benchmarks.waiting`.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import data, results
from benchmarks.ours import forever, loader_speed, open_loader
from benchmarks.pack_vs_tar import NUM_COPIES, enlarge
from benchmarks.works import BATCH_SIZE, NUM_WORKERS

NUM_STEPS = 300
STEP_FACTOR = 1.05


def sleep(step_s: float) -> None:
    """A step on a GPU, as this process sees it."""
    time.sleep(step_s)


def be_busy(step_s: float) -> None:
    """A step on the CPU."""
    end = time.perf_counter() + step_s
    while time.perf_counter() < end:
        pass


def waiting(shards: list[str], step: Callable[[float], None], step_s: float, num_steps: int) -> dict[str, float]:
    """Share of the time that a trainer spends waiting for its next batch."""
    began = time.perf_counter()
    loader = open_loader(shards)
    batches = forever(loader)
    waited_s, first_s = 0.0, 0.0
    for number in range(num_steps):
        asked = time.perf_counter() if number else began
        next(batches)
        waited_s += time.perf_counter() - asked
        first_s = first_s or waited_s
        step(step_s)
    elapsed_s = time.perf_counter() - began
    loader.close()
    return {"waiting_percent": waited_s / elapsed_s * 100, "first_batch_s": first_s, "elapsed_s": elapsed_s}


def many_shards(args: argparse.Namespace) -> list[str]:
    """The photographs several times over, packed: 300 batches and more an epoch."""
    folder: Path = args.home / "many_shards"
    if not any(folder.glob("*.tar")):
        source = enlarge(data.photographs(args), args.home / "many", NUM_COPIES)
        data.pack(source, folder, "--samples-per-shard", "500")
    return sorted(str(path) for path in folder.glob("*.tar"))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    args = parser.parse_args()
    num_steps = 30 if args.quick else NUM_STEPS
    few = data.shards(args)
    shards = few if args.quick else many_shards(args)
    step_s = STEP_FACTOR * BATCH_SIZE / loader_speed(shards, NUM_WORKERS, num_steps).images_per_s
    sleeping = waiting(shards, sleep, step_s, num_steps)
    busy = waiting(shards, be_busy, step_s, num_steps)
    short_epochs = waiting(few, sleep, step_s, num_steps)
    figures = {
        "num_steps": num_steps,
        "step_ms": step_s * 1e3,
        "sleeping_waiting_percent": sleeping["waiting_percent"],
        "busy_waiting_percent": busy["waiting_percent"],
        "sleeping_over_short_epochs_waiting_percent": short_epochs["waiting_percent"],
        "first_batch_s": sleeping["first_batch_s"],
    }
    results.save("waiting", figures, quick=args.quick)


if __name__ == "__main__":
    main()
