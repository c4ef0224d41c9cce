"""Measures one loader in this process and prints the figures as one line of JSON. Run by `benchmarks.run`."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import psutil

from benchmarks.loaders import open_loader
from benchmarks.works import BATCH_SIZE, SIDE, WORKS


def cpu_s() -> float:
    """Processor time of this process and its children so far, in seconds."""
    total = 0.0
    for process in [psutil.Process(), *psutil.Process().children(recursive=True)]:
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def check(images: Any, work: str) -> None:
    """A batch is what the work says, and no empty memory."""
    shape, dtype = tuple(images.shape), str(images.dtype).removeprefix("torch.")
    expected = (BATCH_SIZE, 3, SIDE, SIDE), str(WORKS[work].dtype).removeprefix("torch.")
    if (shape, dtype) != expected:
        raise SystemExit(f"a batch is {shape} {dtype}, expected {expected}")
    if float(images[0].std() if dtype != "uint8" else (images[0] > images[0].min()).sum()) == 0:
        raise SystemExit("a batch of one colour")


def measure(name: str, work: str, setting: str, num_images: int, source: Path) -> dict[str, Any]:
    """Takes batches until `num_images` have come after the first batch."""
    started = time.perf_counter()
    batches = open_loader(name).batches(source, work, setting)
    images, _ = next(batches)
    first_s = time.perf_counter() - started
    check(images, work)
    counted, cpu_before, began = 0, cpu_s(), time.perf_counter()
    while counted < num_images:
        images, _ = next(batches)
        counted += len(images)
    elapsed_s = time.perf_counter() - began
    check(images, work)
    return {
        "images": counted,
        "elapsed_s": elapsed_s,
        "images_per_s": counted / elapsed_s,
        "first_batch_s": first_s,
        "cpu_ms_per_image": (cpu_s() - cpu_before) / counted * 1e3,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("loader")
    parser.add_argument("work", choices=list(WORKS))
    parser.add_argument("--setting", default="")
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--photographs", type=Path, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the loader keeps its own format")
    parser.add_argument("--prepare", action="store_true", help="only write that format")
    args = parser.parse_args()
    if args.prepare:
        open_loader(args.loader).prepare(args.photographs, args.folder)
        return
    setting = args.setting or open_loader(args.loader).SETTINGS[0]
    source = args.folder if args.folder.is_dir() else args.photographs
    figures = measure(args.loader, args.work, setting, args.images, source)
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
