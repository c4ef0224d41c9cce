"""Tries out an installed wheel: photographs to shards by the command, shards to batches, pixels against torchvision.

Usage: wheel_smoke.py ENVIRONMENT, in an empty folder, with the environment's Python.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

NUM = 60
SIZE = 224


def check(*, that: bool, what: str) -> None:
    """Ends the program if something does not hold."""
    if not that:
        sys.exit(f"smoke test failed: {what}")


def batches(environment: Path) -> None:
    """Packs, verifies, reads, compares."""
    import torch
    from torchvision.transforms import v2

    import headrace as hr
    from headrace.cli.demo.photographs import make_photographs

    check(that=environment in Path(hr.__file__).parents, what=f"headrace comes from {hr.__file__}")
    make_photographs(Path("photographs"), num=NUM)
    headrace = str(environment / "bin" / "headrace")
    subprocess.run([headrace, "pack", "photographs", "shards", "--samples-per-shard", "25"], check=True)
    shards = sorted(str(path) for path in Path("shards").glob("*.tar"))
    subprocess.run([headrace, "verify", "--decode", *shards], check=True)
    transform = v2.Compose([v2.RandomResizedCrop(SIZE), v2.RandomHorizontalFlip(), v2.PILToTensor()])
    dataset = hr.ShardDataset(shards, fields=("jpg", "cls"), transform=transform)
    fast: list[Any] = list(hr.DataLoader(dataset, batch_size=16, shuffle=True, num_workers=2))
    plain: list[Any] = list(hr.DataLoader(dataset, batch_size=16, shuffle=True, num_workers=0, fuse=False))
    check(that=len(torch.cat([labels for _, labels in fast])) == NUM, what="samples are missing")
    for (images, labels), (reference, expected) in zip(fast, plain, strict=True):
        check(that=images.shape[1:] == (3, SIZE, SIZE), what=f"shape {tuple(images.shape)}")
        check(that=bool((images == reference).all() and (labels == expected).all()), what="pixels or labels differ")


def main() -> None:
    """Checks that no compiler is at hand, then runs."""
    found = [name for name in ("cc", "c++", "gcc", "g++", "clang", "cmake") if shutil.which(name)]
    check(that=not found, what=f"found on PATH: {found}")
    batches(Path(sys.argv[1]))
    print("The wheel works: packed, verified, read, same pixels as torchvision")


if __name__ == "__main__":
    main()
