"""torch.utils.data.DataLoader over torchvision's ImageFolder, Pillow decoding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder

from benchmarks.works import BATCH_SIZE, NUM_WORKERS, pillow_transform

SETTINGS = ("prefetch 4",)


def prepare(photographs: Path, folder: Path) -> None:
    """Loose files are read as they are."""


def batches(source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches, epoch after epoch; workers live on between epochs."""
    loader = DataLoader(
        ImageFolder(str(source), pillow_transform(work)),
        batch_size=BATCH_SIZE,
        shuffle=True,
        drop_last=True,
        num_workers=NUM_WORKERS,
        persistent_workers=True,
        prefetch_factor=int(setting.split()[1]),
    )
    while True:
        yield from loader
