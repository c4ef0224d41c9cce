"""`headrace pack` against `tar -cf` on the same gigabyte of photographs, both synced to disk.

Both read from the page cache. What a packing of two files takes is subtracted from packing: it is Python's start.
Usage: `python -m benchmarks.pack_vs_tar`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import data, results
from benchmarks.loaders import labelled

NUM_COPIES = 6
NUM_ROUNDS = 3


def enlarge(photographs: Path, folder: Path, num_copies: int) -> Path:
    """The photographs several times over as files of their own, once."""
    ready = folder.with_suffix(f".{num_copies}")
    if not ready.exists():
        shutil.rmtree(folder, ignore_errors=True)
        for path, _ in labelled(photographs):
            (folder / path.parent.name).mkdir(parents=True, exist_ok=True)
            for number in range(num_copies):
                shutil.copyfile(path, folder / path.parent.name / f"{path.stem}-{number}{path.suffix}")
        ready.touch()
    return folder


def seconds(work: Callable[[], object], out: Path) -> float:
    """How long a work takes that writes `out`, with the disk at rest before and `out` gone after."""
    os.sync()
    began = time.perf_counter()
    work()
    elapsed_s = time.perf_counter() - began
    shutil.rmtree(out, ignore_errors=True)
    out.unlink(missing_ok=True)
    return elapsed_s


def tar(source: Path, out: Path) -> None:
    """`tar -cf`, then fsync."""
    subprocess.run([shutil.which("tar") or "tar", "-cf", str(out), "-C", str(source), "."], check=True)
    with out.open("rb") as file:
        os.fsync(file.fileno())


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    args = parser.parse_args()
    num_copies = 1 if args.quick else NUM_COPIES
    source = enlarge(data.photographs(args), args.home / "many", num_copies)
    few = args.home / "two" / "class00"
    few.mkdir(parents=True, exist_ok=True)
    for path, _ in labelled(source)[:2]:
        shutil.copyfile(path, few / path.name)
    size_bytes = sum(path.stat().st_size for path, _ in labelled(source))
    out = args.home / "pack-vs-tar"
    rounds = []
    for _ in range(1 if args.quick else NUM_ROUNDS):
        tar_s = seconds(lambda: tar(source, out), out)
        start_s = seconds(lambda: data.pack(few.parent, out), out)
        pack_s = seconds(lambda: data.pack(source, out, "--samples-per-shard", "2000"), out) - start_s
        rounds.append({"tar_s": tar_s, "pack_s": pack_s, "start_s": start_s, "of_tar": tar_s / pack_s})
    figures = {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}
    results.save("pack_vs_tar", {**figures, "size_gb": size_bytes / 1e9}, quick=args.quick)


if __name__ == "__main__":
    main()
