"""WebDataset: tar shards, samples shuffled in a buffer, batched inside the workers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import webdataset as wds

from benchmarks.loaders import labelled
from benchmarks.works import BATCH_SIZE, NUM_WORKERS, from_bytes

SETTINGS = ("pillow", "torchvision.io")


def prepare(photographs: Path, folder: Path) -> None:
    """Shards of 500 photographs."""
    files = labelled(photographs)
    random.Random(0).shuffle(files)
    folder.mkdir(parents=True)
    with wds.ShardWriter(str(folder / "photos-%06d.tar"), maxcount=500, verbose=0) as writer:
        for path, label in files:
            writer.write({"__key__": path.stem, "jpg": path.read_bytes(), "cls": label})


def batches(source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches, epoch after epoch; workers live on between epochs."""
    shards = sorted(str(path) for path in source.glob("*.tar"))
    decode = from_bytes(work, setting)
    dataset = (
        wds.WebDataset(shards, shardshuffle=len(shards))
        .shuffle(1000, initial=1000)
        .to_tuple("jpg", "cls")
        .map_tuple(decode, int)
        .batched(BATCH_SIZE, partial=False)
    )
    loader = wds.WebLoader(dataset, batch_size=None, num_workers=NUM_WORKERS, persistent_workers=True)
    while True:
        yield from loader
