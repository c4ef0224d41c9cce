"""Headrace over its own shards, two threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import headrace as hr
from benchmarks.data import pack
from benchmarks.works import BATCH_SIZE, NUM_WORKERS, pillow_transform

SETTINGS = ("threads",)


def prepare(photographs: Path, folder: Path) -> None:
    """Shards of 500 photographs, made by `headrace pack`."""
    pack(photographs, folder)


def batches(source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches, epoch after epoch."""
    shards = sorted(str(path) for path in source.glob("*.tar"))
    dataset = hr.ShardDataset(shards, fields=("jpg", "cls"), transform=pillow_transform(work))
    loader: hr.DataLoader[Any] = hr.DataLoader(
        dataset,
        batch_size=BATCH_SIZE,
        shuffle=True,
        drop_last=True,
        num_workers=NUM_WORKERS,
        engine=cast("Any", setting),
        persistent_workers=True,
    )
    while True:
        yield from loader
