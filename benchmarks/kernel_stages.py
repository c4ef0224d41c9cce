"""Processor time of each stage of the kernel, and what torchvision and Pillow take for the same, image by image.

Builds and runs `native/bench/stages.cpp`: RandomResizedCrop(224) and a flip of real photographs, uint8 planes. The
peers get the same boxes. How threads add up is measured by `benchmarks.loader_vs_kernel`.

Usage: `python -m benchmarks.kernel_stages`.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table
from torchvision.io import ImageReadMode, decode_jpeg
from torchvision.transforms.v2 import functional

from benchmarks import data, results
from benchmarks.in_memory import random_resized_crop
from benchmarks.works import SIDE
from headrace import _native

NUM_IMAGES, NUM_ROUNDS = 400, 5
BUILD = data.ROOT / "build" / "bench"

Box = tuple[int, int, int, int]
"""Top, left, height, width."""


def build_stages() -> Path:
    """The executable, built now where sources have changed."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ.get("PATH", "")))
    for command in (
        ["cmake", "-S", str(data.ROOT), "-B", str(BUILD), "-G", "Ninja", "-DHEADRACE_CHECKS=ON"],
        ["cmake", "--build", str(BUILD), "--target", "stages"],
    ):
        done = subprocess.run(command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{done.stdout}{done.stderr}")
    return BUILD / "stages"


def our_stages(files: list[Path], num_rounds: int) -> dict[str, float]:
    """Milliseconds of processor time an image of each stage, median over the rounds."""
    done = subprocess.run([build_stages(), str(num_rounds), *files], stdout=subprocess.PIPE, text=True, check=True)
    return {name: statistics.median(rounds) for name, rounds in json.loads(done.stdout).items()}


def drawn_boxes(encoded: list[bytes]) -> list[Box]:
    """The boxes that stages.cpp draws, from the keys that it uses."""
    arrays = [np.frombuffer(item, np.uint8) for item in encoded]
    addresses = np.array([array.ctypes.data for array in arrays], np.uint64)
    sizes = np.array([array.size for array in arrays], np.uint64)
    keys = np.uint64(0x9E3779B97F4A7C15) * np.arange(1, len(encoded) + 1, dtype=np.uint64)
    out = np.empty((len(encoded), 3, SIDE, SIDE), np.uint8)
    rows = np.arange(len(encoded), dtype=np.int64)
    report = _native.run_jpegs(_native.Pool(0), random_resized_crop(), addresses, sizes, keys, out, rows)
    return [(int(top), int(left), int(height), int(width)) for top, left, height, width in report.params[:, 2:6]]


def median_ms(work: Callable[[int], object], num_images: int, num_rounds: int) -> float:
    """Milliseconds of processor time an image, median over the rounds."""
    rounds = []
    for _ in range(num_rounds):
        began = time.process_time()
        for number in range(num_images):
            work(number)
        rounds.append((time.process_time() - began) / num_images * 1e3)
    return statistics.median(rounds)


def torchvision_stages(encoded: list[bytes], boxes: list[Box], num_rounds: int) -> dict[str, float]:
    """Decode, and crop and resize, of tensors."""
    tensors = [torch.frombuffer(bytearray(item), dtype=torch.uint8) for item in encoded]
    decoded = [decode_jpeg(tensor, mode=ImageReadMode.RGB) for tensor in tensors]

    def crop(number: int) -> torch.Tensor:
        cropped: torch.Tensor = functional.resized_crop(decoded[number], *boxes[number], [SIDE, SIDE], antialias=True)
        return cropped

    def decode(number: int) -> torch.Tensor:
        image: torch.Tensor = decode_jpeg(tensors[number], mode=ImageReadMode.RGB)
        return image

    return {
        "full decode": median_ms(decode, len(encoded), num_rounds),
        "resize": median_ms(crop, len(encoded), num_rounds),
    }


def pillow_stages(encoded: list[bytes], boxes: list[Box], num_rounds: int) -> dict[str, float]:
    """Decode, and crop and resize, of PIL images."""
    decoded = [Image.open(io.BytesIO(item)).convert("RGB") for item in encoded]

    def crop(number: int) -> Image.Image:
        top, left, height, width = boxes[number]
        box = (left, top, left + width, top + height)
        return decoded[number].crop(box).resize((SIDE, SIDE), Image.Resampling.BILINEAR)

    def decode(number: int) -> Image.Image:
        return Image.open(io.BytesIO(encoded[number])).convert("RGB")

    return {
        "full decode": median_ms(decode, len(encoded), num_rounds),
        "resize": median_ms(crop, len(encoded), num_rounds),
    }


def show(figures: dict[str, dict[str, float]]) -> None:
    """The table."""
    table = Table("ms an image, one core", *figures)
    for stage in figures["headrace"]:
        table.add_row(stage, *(f"{column[stage]:.3f}" if stage in column else "" for column in figures.values()))
    Console().print(table)


def stay_on_one_core() -> None:
    """This process and its children, where the system can do that."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    args = parser.parse_args()
    num_images, num_rounds = (60, 2) if args.quick else (NUM_IMAGES, NUM_ROUNDS)
    files = sorted(data.photographs(args).glob("*/*.jpg"))
    files = files[:: max(1, len(files) // num_images)][:num_images]
    stay_on_one_core()
    torch.set_num_threads(1)
    encoded = [file.read_bytes() for file in files]
    boxes = drawn_boxes(encoded)
    figures = {
        "headrace": our_stages(files, num_rounds),
        "torchvision": torchvision_stages(encoded, boxes, num_rounds),
        "pillow": pillow_stages(encoded, boxes, num_rounds),
    }
    show(figures)
    results.save("kernel_stages", figures, quick=args.quick)


if __name__ == "__main__":
    main()
