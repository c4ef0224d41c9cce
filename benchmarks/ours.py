"""Headrace's loader as most benchmarks use it: shards, RandomResizedCrop(224) and flip, uint8 batches of 64."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice
from typing import Any

from benchmarks.speed import Speed, speed_of
from benchmarks.works import BATCH_SIZE, NUM_FIRST_BATCHES, NUM_WORKERS, pillow_transform
from headrace import DataLoader, ShardDataset


def open_loader(shards: list[str], num_workers: int = NUM_WORKERS) -> DataLoader[Any]:
    """A shuffling loader over these shards."""
    dataset = ShardDataset(shards, fields=("jpg", "cls"), transform=pillow_transform("crop"))
    return DataLoader(
        dataset, batch_size=BATCH_SIZE, shuffle=True, drop_last=True, num_workers=num_workers, persistent_workers=True
    )


def forever(loader: DataLoader[Any]) -> Iterator[Any]:
    """Batches, epoch after epoch."""
    while True:
        yield from loader


def loader_speed(shards: list[str], num_workers: int, num_batches: int) -> Speed:
    """After `NUM_FIRST_BATCHES`."""
    loader = open_loader(shards, num_workers)
    batches = forever(loader)
    deque(islice(batches, NUM_FIRST_BATCHES), maxlen=0)
    speed = speed_of(lambda: deque(islice(batches, num_batches), maxlen=0), num_batches * BATCH_SIZE)
    loader.close()
    return speed
