"""From `iter` to the first batch: four worker processes and a dataset with a list of 2,000,000 paths.

Each start is one of a fresh process that has imported torch and made the list, as a trainer has. Ours is
`hr.DataLoader` with `engine="processes"`; torch's loader starts its workers by "spawn" or "forkserver". Ours is started
a second time in the same process too, as a second loader would be. Starts go by turns; figures are medians.

Usage: `python -m benchmarks.worker_start [--quick]`; about two minutes.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader

import headrace as hr
from benchmarks import data, results
from benchmarks.shared_list import Lengths, make_paths

NUM_PATHS, NUM_WORKERS, NUM_ROUNDS, BATCH_SIZE = 2_000_000, 4, 3, 64
METHODS = ("spawn", "forkserver")


def seconds(call: Callable[[], object]) -> float:
    """How long a call takes."""
    began_s = time.perf_counter()
    call()
    return time.perf_counter() - began_s


def start_ours(dataset: Lengths) -> dict[str, float]:
    """Seconds of a first start, and of one after another loader has started."""
    loaders: list[hr.DataLoader[Any]] = [
        hr.DataLoader(dataset, batch_size=BATCH_SIZE, shuffle=True, engine="processes", num_workers=NUM_WORKERS)
        for _ in range(2)
    ]
    first_s, second_s = (seconds(lambda loader=loader: next(iter(loader))) for loader in loaders)  # type: ignore[misc]
    for loader in loaders:
        loader.close()
    return {"first_s": first_s, "second_s": second_s}


def start_torch(dataset: Lengths, method: str) -> dict[str, float]:
    """Seconds of a start of torch's workers."""
    warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores are what is measured
    loader = DataLoader(
        dataset, batch_size=BATCH_SIZE, shuffle=True, num_workers=NUM_WORKERS, multiprocessing_context=method
    )
    return {"first_s": seconds(lambda: next(iter(loader)))}


def measure(method: str, num_paths: int) -> dict[str, float]:
    """A start in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.worker_start", "--one", method, str(num_paths)]
    done = subprocess.run(command, cwd=data.ROOT, env=data.environment(), stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    print(f"  {method}: {json.dumps(results.rounded(figures))}", flush=True)
    return figures


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the paths, once")
    parser.add_argument("--one", nargs=2, help="only one start, here: whose, and the number of paths")
    args = parser.parse_args()
    if args.one:
        method, dataset = args.one[0], Lengths(make_paths(int(args.one[1])))
        print(json.dumps(start_ours(dataset) if method == "ours" else start_torch(dataset, method)), flush=True)
        return
    num_paths = NUM_PATHS // 10 if args.quick else NUM_PATHS
    rounds = [
        {method: measure(method, num_paths) for method in ("ours", *METHODS)}
        for _ in range(1 if args.quick else NUM_ROUNDS)
    ]
    figures: dict[str, Any] = {
        "num_paths": num_paths,
        "num_workers": NUM_WORKERS,
        "first_s": statistics.median(one["ours"]["first_s"] for one in rounds),
        "second_s": statistics.median(one["ours"]["second_s"] for one in rounds),
        **{f"torch_{method}_s": statistics.median(one[method]["first_s"] for one in rounds) for method in METHODS},
    }
    results.save("worker_start", figures, quick=args.quick)


if __name__ == "__main__":
    main()
