"""Segmentation, detection and two views of a contrastive loss: torch's loader with torchvision beside ours.

Usage: `python -m benchmarks.joint [--photographs DIR] [--quick]`. Each loader runs in a process of its own, by turns,
in rounds; medians count, and of torch's settings the faster one. Figures of works that are not measured this time stay.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import Any

import torch

from benchmarks import data, joint_data, results
from benchmarks.joint_works import BATCH_SIZE, SETTINGS, SIDE, WORKS, our_batches, torch_batches
from benchmarks.measure import cpu_s

NUM_SAMPLES, NUM_ROUNDS, NUM_TIMED = 2000, 3, 4000
QUICK_SAMPLES, QUICK_TIMED = 500, 500


def check(batch: Any, work: str) -> None:
    """A batch is what the work says, and no empty memory."""
    images = batch if work == "simclr" else [batch["image"]]
    for image in images:
        if tuple(image.shape) != (BATCH_SIZE, 3, SIDE, SIDE) or image.dtype is not torch.uint8:
            raise SystemExit(f"a batch is {tuple(image.shape)} {image.dtype}")
        if int(image[0].max()) == int(image[0].min()):
            raise SystemExit("an image of one colour")
    if work == "segmentation" and batch["mask"].shape[-2:] != (SIDE, SIDE):
        raise SystemExit(f"masks are {tuple(batch['mask'].shape)}")
    if work.startswith("detection") and [len(one) for one in batch["boxes"]] != [len(one) for one in batch["labels"]]:
        raise SystemExit("boxes without labels")


def measure(loader: str, work: str, setting: str, folder: Path, num: int) -> dict[str, float]:
    """Takes batches until `num` samples have come after the first batch."""
    batches = (our_batches if loader == "headrace" else torch_batches)(folder, work, setting)
    batch = next(batches)
    check(batch, work)
    counted, cpu_before, began = 0, cpu_s(), time.perf_counter()
    while counted < num:
        batch = next(batches)
        counted += BATCH_SIZE
    elapsed_s = time.perf_counter() - began
    check(batch, work)
    return {"samples_per_s": counted / elapsed_s, "cpu_ms_per_sample": (cpu_s() - cpu_before) / counted * 1e3}


def compare(work: str, folder: Path, num: int, rounds: int) -> dict[str, Any]:
    """The loaders by turns."""
    found: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds):
        for loader, settings in SETTINGS.items():
            for setting in settings:
                out = data.run_module(
                    "benchmarks.joint", "--one", loader, work, setting, "--home", str(folder), "--timed", str(num)
                )
                found.setdefault(f"{loader} {setting}", []).append(json.loads(out.splitlines()[-1]))
    medians = {
        name: {figure: statistics.median(run[figure] for run in runs) for figure in runs[0]}
        for name, runs in found.items()
    }
    best = max(figures["samples_per_s"] for name, figures in medians.items() if name.startswith("torch"))
    least = min(figures["cpu_ms_per_sample"] for name, figures in medians.items() if name.startswith("torch"))
    ours = medians["headrace auto"]
    return {
        "loaders": medians,
        "times_torch": ours["samples_per_s"] / best,
        "times_torch_by_cpu": least / ours["cpu_ms_per_sample"],
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    data.add_arguments(parser)
    parser.add_argument("--works", nargs="+", choices=WORKS, default=list(WORKS))
    parser.add_argument("--one", nargs=3, metavar=("LOADER", "WORK", "SETTING"), help="measures one loader and prints")
    parser.add_argument("--timed", type=int, default=NUM_TIMED, help="samples that are timed")
    args = parser.parse_args()
    if args.one is not None:
        loader, work, setting = args.one
        print(json.dumps(measure(loader, work, setting, args.home, args.timed)), flush=True)
        return
    num, timed, rounds = (QUICK_SAMPLES, QUICK_TIMED, 1) if args.quick else (NUM_SAMPLES, args.timed, NUM_ROUNDS)
    folder = args.home / "joint"
    joint_data.prepare(data.photographs(args), folder, num)
    figures = {work: compare(work, folder, timed, rounds) for work in args.works}
    others = {} if args.quick else (results.load("joint") or {"figures": {}})["figures"]
    results.save("joint", others | figures, quick=args.quick)


if __name__ == "__main__":
    main()
