"""Seconds from `ShardDataset(...)` to the first batch: 1,000,000 samples in 100 indexed shards.

Each measurement is a process of its own that has imported what it needs. Usage: `python -m benchmarks.first_batch`.
"""

from __future__ import annotations

import argparse
import io
import shutil
import statistics
import tarfile
import time
from pathlib import Path

from PIL import Image

from benchmarks import data, results
from benchmarks.loaders import labelled
from benchmarks.ours import open_loader

NUM_SHARDS, SAMPLES_PER_SHARD = 100, 10_000
NUM_RUNS = 5
THUMBNAIL = (64, 64)


def write_shards(photographs: Path, folder: Path, num_shards: int) -> None:
    """Shards of thumbnails, all alike but for their names, with their indices."""
    folder.mkdir(parents=True)
    first = folder / "train-000000.tar"
    thumbnails = [thumbnail(path) for path, _ in labelled(photographs)[:100]]
    with tarfile.open(first, "w", format=tarfile.USTAR_FORMAT) as shard:
        for number in range(SAMPLES_PER_SHARD):
            add(shard, f"{number:08d}.jpg", thumbnails[number % len(thumbnails)])
            add(shard, f"{number:08d}.cls", str(number % 10).encode())
    for number in range(1, num_shards):
        shutil.copyfile(first, folder / f"train-{number:06d}.tar")
    data.run_module("headrace", "index", str(folder))


def thumbnail(path: Path) -> bytes:
    """A photograph as a small JPEG."""
    out = io.BytesIO()
    Image.open(path).resize(THUMBNAIL).save(out, "JPEG", quality=80)
    return out.getvalue()


def add(shard: tarfile.TarFile, name: str, content: bytes) -> None:
    """One member."""
    info = tarfile.TarInfo(name)
    info.size = len(content)
    shard.addfile(info, io.BytesIO(content))


def first_batch_s(folder: Path) -> float:
    """One measurement, in this process."""
    shards = sorted(str(path) for path in folder.glob("*.tar"))
    began = time.perf_counter()
    loader = open_loader(shards)
    next(iter(loader))
    elapsed_s = time.perf_counter() - began
    loader.close()
    return elapsed_s


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    parser.add_argument("--once", type=Path, help="only measure these shards once and print the seconds")
    args = parser.parse_args()
    if args.once:
        print(first_batch_s(args.once))
        return
    num_shards = 10 if args.quick else NUM_SHARDS
    folder = args.home / f"first-batch-{num_shards}"
    shutil.rmtree(folder, ignore_errors=True)
    write_shards(data.photographs(args), folder, num_shards)
    times = [float(data.run_module("benchmarks.first_batch", "--once", str(folder))) for _ in range(NUM_RUNS)]
    shutil.rmtree(folder)
    figures = {
        "num_samples": num_shards * SAMPLES_PER_SHARD,
        "num_shards": num_shards,
        "first_batch_s": statistics.median(times),
        "first_batch_s_runs": times,
    }
    results.save("first_batch", figures, quick=args.quick)


if __name__ == "__main__":
    main()
