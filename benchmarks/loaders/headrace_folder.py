"""Headrace over torchvision's ImageFolder, two threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

from torchvision.datasets import ImageFolder

import headrace as hr
from benchmarks.works import BATCH_SIZE, NUM_WORKERS, pillow_transform

SETTINGS = ("threads",)


def prepare(photographs: Path, folder: Path) -> None:
    """Loose files are read as they are."""


def batches(source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches, epoch after epoch."""
    dataset = ImageFolder(str(source), pillow_transform(work))
    loader: hr.DataLoader[Any] = hr.DataLoader(
        dataset,
        batch_size=BATCH_SIZE,
        shuffle=True,
        drop_last=True,
        num_workers=NUM_WORKERS,
        persistent_workers=True,
        engine=cast("Any", setting),
    )
    while True:
        yield from loader
