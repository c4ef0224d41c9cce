"""What a list of 2,000,000 paths costs two ranks with four worker processes each: memory, and time to the first batch.

Each rank is a process with `hr.DataLoader(engine="processes")` over a dataset that holds a `SharedList`, or with a
stock `torch.utils.data.DataLoader`, whose dataset holds a plain list or a `SharedList`. The memory is the proportional
set size of all ranks and workers together (each page counts once, divided among those who have it), after each of three
epochs, less that of the same run with 2,000 paths, each read a thousand times. It is also given without pages of
files: those of torch's libraries are shared with whatever else runs torch on the machine, and what falls to us changes
with it. Linux only.

Usage: `python -m benchmarks.shared_list [--methods headrace spawn forkserver fork] [--quick]`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
from torch.utils.data import DataLoader, Dataset, Sampler

import headrace as hr
from benchmarks import data, results

NUM_PATHS, FEW_PATHS = 2_000_000, 2_000
NUM_RANKS, NUM_WORKERS, NUM_EPOCHS = 2, 4, 3
BATCH_SIZE = 1000
STRIDE = 1_299_709
"""A prime that divides no number of paths used here: its multiples visit all of them, far apart."""
METHODS = ("headrace", "spawn", "forkserver", "fork")
"""Our loader, or how torch's starts its workers."""
KINDS = ("shared", "plain")
RUN_TIMEOUT_S = 600


class Lengths(Dataset[int]):
    """The length of each path: the least that a sample can be."""

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = paths

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> int:
        return len(self.paths[index])


class Scattered(Sampler[int]):
    """Positions of a list, far apart one after another, without a list of them; all of a short one many times."""

    def __init__(self, num_paths: int, num_samples: int, rank: int) -> None:
        self.num_paths, self.num_samples, self.rank = num_paths, num_samples, rank

    def __len__(self) -> int:
        return len(range(self.rank, self.num_samples, NUM_RANKS))

    def __iter__(self) -> Iterator[int]:
        return (at * STRIDE % self.num_paths for at in range(self.rank, self.num_samples, NUM_RANKS))


def make_paths(num: int) -> list[str]:
    """Paths as those of ImageNet."""
    return [f"/data/imagenet/train/n{at % 1000:08d}/n{at % 1000:08d}_{at:07d}.JPEG" for at in range(num)]


def run_rank(kind: str, method: str, num_paths: int, num_samples: int) -> None:
    """One rank: a line after each epoch; goes on when it is told to."""
    warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores are what is measured
    paths = make_paths(num_paths)
    began = time.process_time()
    dataset = Lengths(hr.SharedList(paths) if kind == "shared" else paths)
    build_s = time.process_time() - began
    size_bytes = dataset.paths.size_bytes if isinstance(dataset.paths, hr.SharedList) else 0
    del paths
    sampler = Scattered(num_paths, num_samples, int(os.environ["LOCAL_RANK"]))
    loader = open_loader(dataset, sampler, method)
    for epoch in range(NUM_EPOCHS):
        began = time.perf_counter()
        batches = iter(loader)
        next(batches)
        first_s = time.perf_counter() - began
        for _ in batches:
            pass
        facts = {"epoch": epoch, "first_batch_s": first_s, "build_cpu_s": build_s, "size_bytes": size_bytes}
        print(json.dumps(facts), flush=True)
        sys.stdin.readline()


def open_loader(dataset: Lengths, sampler: Scattered, method: str) -> Iterable[Any]:
    """The loader that is measured; its workers stay between epochs."""
    if method == "headrace":
        return hr.DataLoader(
            dataset, batch_size=BATCH_SIZE, sampler=sampler, engine="processes", num_workers=NUM_WORKERS
        )
    return DataLoader(
        dataset,
        batch_size=BATCH_SIZE,
        sampler=sampler,
        num_workers=NUM_WORKERS,
        multiprocessing_context=method,
        persistent_workers=True,
    )


def proportional_mb(ranks: Sequence[subprocess.Popen[str]]) -> tuple[float, float]:
    """Proportional set size of the ranks and all that they have started: of all pages, and of those of no file."""
    family = [psutil.Process(rank.pid) for rank in ranks]
    family += [child for rank in list(family) for child in rank.children(recursive=True)]
    counts = [counted_kb(process.pid) for process in family]
    own = sum(one.get("Pss_Anon", 0) + one.get("Pss_Shmem", 0) for one in counts)
    return sum(one.get("Pss", 0) for one in counts) * 1024 / 1e6, own * 1024 / 1e6


def counted_kb(process: int) -> dict[str, int]:
    """What the kernel counts of a process; nothing where it is gone."""
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()[1:]
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return {name: int(value.split()[0]) for name, _, value in (line.partition(":") for line in lines)}


def start_rank(rank: int, *arguments: str) -> subprocess.Popen[str]:
    """One rank, with the variables that torchrun would set, which is how the lists of ranks find each other."""
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.shared_list", "--rank", *arguments],
        cwd=data.ROOT,
        env=data.environment() | {"LOCAL_WORLD_SIZE": str(NUM_RANKS), "LOCAL_RANK": str(rank), "OMP_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def measure(kind: str, method: str, num_paths: int, num_samples: int) -> dict[str, Any]:
    """All ranks together, for three epochs."""
    ranks = [start_rank(rank, kind, method, str(num_paths), str(num_samples)) for rank in range(NUM_RANKS)]
    try:
        facts: list[dict[str, Any]] = []
        sizes: list[tuple[float, float]] = []
        for _ in range(NUM_EPOCHS):
            facts += [json.loads(answer(rank)) for rank in ranks]
            sizes.append(proportional_mb(ranks))
            for rank in ranks:
                tell(rank)
    finally:
        for rank in ranks:
            os.killpg(rank.pid, signal.SIGKILL)
            rank.wait()
    return {
        "pss_mb": [size for size, _ in sizes],
        "pss_without_files_mb": [size for _, size in sizes],
        "block_mb": facts[0]["size_bytes"] / 1e6,
        "build_cpu_s": facts[0]["build_cpu_s"],
        "first_batch_s": max(one["first_batch_s"] for one in facts if one["epoch"] == 0),
    }


def answer(rank: subprocess.Popen[str]) -> str:
    """The next line of a rank."""
    line = rank.stdout.readline() if rank.stdout is not None else ""
    if not line:
        raise RuntimeError(f"a rank has ended with {rank.wait()}")
    return line


def tell(rank: subprocess.Popen[str]) -> None:
    """Lets a rank go on."""
    if rank.stdin is not None:
        rank.stdin.write("\n")
        rank.stdin.flush()


def compare(kind: str, method: str, num_paths: int) -> dict[str, Any]:
    """What many paths cost above few."""
    many, few = (measure(kind, method, num, num_paths) for num in (num_paths, FEW_PATHS))
    figures: dict[str, Any] = {"first_batch_s": many["first_batch_s"], "first_batch_of_few_s": few["first_batch_s"]}
    for name in ("pss_mb", "pss_without_files_mb"):
        figures[f"{name}_above_few"] = [one - other for one, other in zip(many[name], few[name], strict=True)]
    if kind == "shared":
        figures |= {name: many[name] for name in ("block_mb", "build_cpu_s")}
        figures["above_per_block"] = max(figures["pss_without_files_mb_above_few"]) / many["block_mb"]
    print(f"  {kind}, {method}: {json.dumps(results.rounded(figures))}", flush=True)
    return figures


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=list(METHODS))
    parser.add_argument("--rank", nargs=4, help="only be one rank: kind, method, number of paths and of samples")
    args = parser.parse_args()
    if args.rank:
        kind, method, num_paths, num_samples = args.rank
        run_rank(kind, method, int(num_paths), int(num_samples))
        return
    num_paths = NUM_PATHS // 10 if args.quick else NUM_PATHS
    figures: dict[str, Any] = {"num_paths": num_paths, "num_ranks": NUM_RANKS, "num_workers": NUM_WORKERS}
    for method in args.methods:
        kinds = ("shared",) if method == "headrace" else KINDS
        figures[method] = {kind: compare(kind, method, num_paths) for kind in kinds}
    results.save("shared_list", figures, quick=args.quick)


if __name__ == "__main__":
    main()
