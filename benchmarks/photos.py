"""Makes the photographs that every benchmark reads: cut from the wallpapers that ship in four Debian packages.

A photograph is a random crop of a wallpaper, brought to a size and saved in a quality that are common in photo
sets. Each wallpaper has its own random stream, seeded by its file name, so that the same packages, seed and number
give the same files, byte for byte (with the same Pillow).

Usage: ``python benchmarks/photos.py FOLDER [--num 4000] [--classes 10] [--seed 0]``; the files are
``FOLDER/classCC/NNNNNN.jpg``, photograph n in class n modulo the number of classes.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

PACKAGES = ("lomiri-wallpapers-20.04", "lomiri-wallpapers-16.04", "plasma-workspace-wallpapers", "gnome-backgrounds")
"""Debian packages with the wallpapers."""

SOURCES = (("/usr/share/backgrounds", "*.jpg"), ("/usr/share/wallpapers", "*/contents/images*/*.jpg"))
"""Folders of the packages and the pattern of the photographs in them."""

SIZES = ((500, 375), (375, 500), (500, 333), (500, 400), (640, 480), (400, 300), (500, 500))
"""Width and height in pixels, as in ImageNet and Open Images."""

QUALITIES = (85, 92, 95, 96)
"""JPEG qualities."""

LARGEST_REDUCTION = 4.0
"""A crop is at most this many times larger than the photograph made of it."""


def wallpapers() -> list[Path]:
    """The photographs of the packages, in the order of their paths."""
    found = sorted(str(path) for folder, pattern in SOURCES for path in Path(folder).glob(pattern))
    if not found:
        sys.exit(f"no wallpapers found; run: apt-get install -y --no-install-recommends {' '.join(PACKAGES)}")
    return [Path(path) for path in found]


def draw_box(size: tuple[int, int], target: tuple[int, int], stream: random.Random) -> tuple[int, int, int, int]:
    """Left, top, right and bottom of a crop with the proportions of `target` inside an image of this size."""
    largest = min(size[0] / target[0], size[1] / target[1])
    scale = stream.uniform(1.0, min(largest, LARGEST_REDUCTION)) if largest > 1 else largest
    width, height = int(target[0] * scale), int(target[1] * scale)
    left = stream.randint(0, max(0, size[0] - width))
    top = stream.randint(0, max(0, size[1] - height))
    return left, top, left + width, top + height


def photographs(wallpaper: Path, seed: int) -> Iterator[tuple[Image.Image, int]]:
    """Photographs cut from one wallpaper and the quality to save each with, without end."""
    stream = random.Random(f"{seed}:{wallpaper.name}")
    whole = Image.open(wallpaper).convert("RGB")
    while True:
        target = stream.choice(SIZES)
        box = draw_box(whole.size, target, stream)
        yield whole.crop(box).resize(target, Image.Resampling.LANCZOS), stream.choice(QUALITIES)


def make(folder: Path, num: int = 4000, num_classes: int = 10, seed: int = 0) -> int:
    """Writes the photographs and returns their size in bytes together."""
    Image.MAX_IMAGE_PIXELS = None  # wallpapers of 8K are no attack
    sources = wallpapers()
    share = -(-num // len(sources))
    for number in range(num_classes):
        (folder / f"class{number:02d}").mkdir(parents=True, exist_ok=True)
    cut = itertools.chain.from_iterable(itertools.islice(photographs(path, seed), share) for path in sources)
    size_bytes = 0
    for number, (photograph, quality) in enumerate(itertools.islice(cut, num)):
        path = folder / f"class{number % num_classes:02d}" / f"{number:06d}.jpg"
        photograph.save(path, "JPEG", quality=quality)
        size_bytes += path.stat().st_size
    return size_bytes


def ensure(folder: Path, num: int = 4000) -> Path:
    """The folder with this many photographs, made now unless it is there."""
    if sum(1 for _ in folder.glob("*/*.jpg")) != num:
        make(folder, num)
    return folder


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--num", type=int, default=4000)
    parser.add_argument("--classes", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    size_bytes = make(args.folder, args.num, args.classes, args.seed)
    print(f"{args.num} photographs in {args.folder}, {size_bytes / max(args.num, 1) / 1024:.0f} KiB on average")


if __name__ == "__main__":
    main()
