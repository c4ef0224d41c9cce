"""Where the benchmarks keep photographs, shards and the peers' environment: `data/benchmarks` of this checkout."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from benchmarks import photos

ROOT = Path(__file__).resolve().parent.parent
HOME = ROOT / "data" / "benchmarks"
NUM_PHOTOGRAPHS = 4000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Arguments that all benchmarks of photographs have."""
    parser.add_argument("--photographs", type=Path, default=HOME / "photographs", help="made if it is not there")
    parser.add_argument("--home", type=Path, default=HOME, help="folder for shards and other formats")
    parser.add_argument("--quick", action="store_true", help="a small run: figures are rough")


def photographs(args: argparse.Namespace) -> Path:
    """The photographs, made now unless they are there."""
    folder: Path = args.photographs
    return folder if any(folder.glob("*/*.jpg")) else photos.ensure(folder, NUM_PHOTOGRAPHS)


def run_module(name: str, *arguments: str, python: str = sys.executable) -> str:
    """Runs `python -m name` on this checkout and returns what it printed; its errors are shown."""
    done = subprocess.run(
        [python, "-m", name, *arguments], cwd=ROOT, env=environment(), stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def environment() -> dict[str, str]:
    """Environment of a process that measures: this checkout first on the path."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])}


def shards(args: argparse.Namespace) -> list[str]:
    """The photographs as shards, packed now by `headrace pack` unless they are there."""
    folder: Path = args.home / "headrace_shards"
    if not any(folder.glob("*.tar")):
        pack(photographs(args), folder)
    return sorted(str(path) for path in folder.glob("*.tar"))


def pack(source: Path, folder: Path, *options: str) -> None:
    """`headrace pack`, in shards of 500 photographs unless options say otherwise."""
    run_module("headrace", "pack", str(source), str(folder), *(options or ("--samples-per-shard", "500")))
