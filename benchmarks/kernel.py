"""Decode, random crop and flip on one core: our kernel against torchvision, the same photographs in memory.

Usage: `python -m benchmarks.kernel`.
"""

from __future__ import annotations

import argparse
import statistics
import time

import torch

from benchmarks import data, results
from benchmarks.in_memory import Photographs, kernel_speed
from benchmarks.works import BATCH_SIZE, from_bytes

NUM_BATCHES, NUM_ROUNDS = 32, 5


def torchvision_images_per_s(photographs: Photographs, backend: str, num_batches: int) -> float:
    """Images a second of torchvision on this thread."""
    decode = from_bytes("crop", backend)
    encoded = [item.tobytes() for number in range(num_batches) for item in photographs.data[photographs.batch(number)]]
    decode(encoded[0])
    began = time.perf_counter()
    for item in encoded:
        decode(item)
    return num_batches * BATCH_SIZE / (time.perf_counter() - began)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data.add_arguments(parser)
    args = parser.parse_args()
    torch.set_num_threads(1)
    num_batches = 4 if args.quick else NUM_BATCHES
    photographs = Photographs(data.photographs(args))
    rounds = [
        {
            "ours": kernel_speed(photographs, 1, num_batches).images_per_s,
            "torchvision": torchvision_images_per_s(photographs, "torchvision.io", num_batches),
            "pillow": torchvision_images_per_s(photographs, "pillow", num_batches),
        }
        for _ in range(NUM_ROUNDS)
    ]
    figures = {f"{name}_ms_per_image": statistics.median(1e3 / one[name] for one in rounds) for name in rounds[0]}
    figures["ratio"] = statistics.median(one["ours"] / one["torchvision"] for one in rounds)
    figures["ratio_to_pillow"] = statistics.median(one["ours"] / one["pillow"] for one in rounds)
    results.save("kernel", figures, quick=args.quick)


if __name__ == "__main__":
    main()
