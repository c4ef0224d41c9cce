"""Datasets in Python: our loader with automatic settings beside torch's with the best of seven.

Each dataset has a process of its own, in which torch's workers are forked before any thread of ours is there. Both
loaders keep their workers; rounds of an epoch each go by turns, and what counts is the median of the ratios in a round.
torch's settings are tried first, each for a few seconds: 0, 1, 2 and 4 workers, with 2 and 4 batches a worker ahead.

Usage: `python -m benchmarks.map_style [--sets NAME ...] [--rounds 5] [--quick]`; about ten minutes on two cores, six
with 3 rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

import headrace as hr
from benchmarks import data, results
from benchmarks.map_sets import QUICK_PART, SETS, MapSet, Places

SETTINGS: tuple[dict[str, Any], ...] = (
    {"num_workers": 0},
    *({"num_workers": w, "prefetch_factor": p} for w in (1, 2, 4) for p in (2, 4)),
)
TRIAL_S = 3.0
TOUCH_FROM_BYTES, PAGE_BYTES = 1 << 20, 4096


def torch_loader(one: MapSet, dataset: Dataset[Any], setting: dict[str, Any]) -> DataLoader[Any]:
    """The loader of torch as a careful user sets it."""
    stays: dict[str, Any] = {"persistent_workers": True} if setting["num_workers"] else {}
    return DataLoader(
        dataset, batch_size=one.batch_size, shuffle=True, drop_last=True, **one.theirs, **setting, **stays
    )


def our_loader(one: MapSet, dataset: Dataset[Any]) -> hr.DataLoader[Any]:
    """Ours, without settings."""
    return hr.DataLoader(dataset, batch_size=one.batch_size, shuffle=True, drop_last=True, **one.ours)


def look(batch: Any) -> None:
    """Reads a byte of each page of large tensors, as a trainer would read all of them."""
    for part in batch if isinstance(batch, (list, tuple)) else (batch,):
        if isinstance(part, torch.Tensor) and part.nbytes >= TOUCH_FROM_BYTES:
            part.view(-1).view(torch.uint8)[::PAGE_BYTES].sum()


def epoch_rate(batches: Iterable[Any], num_samples: int) -> float:
    """Samples a second over an epoch."""
    began_s = time.perf_counter()
    for batch in batches:
        look(batch)
    return num_samples / (time.perf_counter() - began_s)


def trial_rate(loader: DataLoader[Any], trial_s: float) -> float:
    """Batches a second after the first one, over a few seconds."""
    batches = iter(loader)
    look(next(batches))
    num_batches, began_s = 0, time.perf_counter()
    for batch in batches:
        look(batch)
        num_batches += 1
        if time.perf_counter() - began_s > trial_s:
            break
    return num_batches / (time.perf_counter() - began_s)


def choose(one: MapSet, dataset: Dataset[Any], trial_s: float) -> dict[str, Any]:
    """The setting of torch's loader that is fastest in a short trial."""
    rates = [trial_rate(torch_loader(one, dataset, setting), trial_s) for setting in SETTINGS]
    return SETTINGS[int(np.argmax(rates))]


def compare(name: str, places: Places, num_rounds: int, *, quick: bool) -> dict[str, Any]:
    """One dataset, in rounds."""
    warnings.filterwarnings("ignore", "This DataLoader will create")  # more workers than cores are tried on purpose
    one = SETS[name]
    dataset = one.make(places, QUICK_PART if quick else 1)
    setting = choose(one, dataset, TRIAL_S / (QUICK_PART if quick else 1))
    loaders: dict[str, Any] = {"torch": torch_loader(one, dataset, setting)}
    if one.asked_of_defaults is not None:
        loaders["defaults"] = torch_loader(one, dataset, {"num_workers": 0})
    loaders["ours"] = our_loader(one, dataset)
    num_samples = len(loaders["torch"]) * one.batch_size
    rounds = [{key: epoch_rate(loader, num_samples) for key, loader in loaders.items()} for _ in range(num_rounds + 1)]
    rounds = rounds[1:]  # the first one starts workers and fills caches
    ratios = [one_round["ours"] / one_round["torch"] for one_round in rounds]
    facts = [line for line in loaders["ours"].explain().splitlines() if line.startswith(("engine", "workers"))]
    loaders["ours"].close()
    return {
        "title": one.title,
        "asked": one.asked,
        "times_torch": statistics.median(ratios),
        "times_torch_rounds": ratios,
        "samples_per_s": statistics.median(one_round["ours"] for one_round in rounds),
        "torch_samples_per_s": statistics.median(one_round["torch"] for one_round in rounds),
        "torch_setting": ", ".join(f"{key} {value}" for key, value in setting.items()).replace("_", " "),
        "ours": [" ".join(line.split()) for line in facts],
    } | against_defaults(one, rounds)


def against_defaults(one: MapSet, rounds: list[dict[str, float]]) -> dict[str, float]:
    """The same against torch's loader without settings, where that is asked for."""
    if one.asked_of_defaults is None:
        return {}
    ratio = statistics.median(one_round["ours"] / one_round["defaults"] for one_round in rounds)
    return {"asked_of_defaults": one.asked_of_defaults, "times_torch_defaults": ratio}


def run_one(name: str, args: argparse.Namespace, num_rounds: int) -> dict[str, Any]:
    """A dataset in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.map_style", "--one", name, "--rounds", str(num_rounds)]
    command += ["--photographs", str(args.photographs), "--home", str(args.home), *(["--quick"] if args.quick else [])]
    environment = data.environment() | {"PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, cwd=data.ROOT, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    print(f"  {name}: {json.dumps(results.rounded(figures))}", flush=True)
    return figures


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--rounds", type=int, default=None, help="5, or 2 with --quick")
    parser.add_argument("--one", choices=list(SETS), help="only measure one, here, and print its figures")
    args = parser.parse_args()
    num_rounds = args.rounds or (2 if args.quick else 5)
    if args.one:
        print(
            json.dumps(compare(args.one, Places(args.photographs, args.home), num_rounds, quick=args.quick)), flush=True
        )
        return
    data.photographs(args)
    figures = {name: run_one(name, args, num_rounds) for name in args.sets}
    known = (results.load("map_style") or {}).get("figures", {}) if not args.quick else {}
    results.save("map_style", {**known, **figures}, quick=args.quick)


if __name__ == "__main__":
    main()
