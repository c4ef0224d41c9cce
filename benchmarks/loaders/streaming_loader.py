"""MosaicML Streaming: MDS shards behind a torch DataLoader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import streaming
from streaming.base.util import clean_stale_shared_memory
from torch.utils.data import DataLoader

from benchmarks.loaders import labelled
from benchmarks.works import BATCH_SIZE, NUM_WORKERS, from_bytes

SETTINGS = ("pillow", "torchvision.io")


class Photographs(streaming.StreamingDataset):
    """Decodes what StreamingDataset reads."""

    def __init__(self, decode: Callable[[bytes], Any], **options: Any) -> None:
        super().__init__(**options)
        self.decode = decode

    def __getitem__(self, at: Any) -> Any:
        """The image and the label of one sample."""
        sample = super().__getitem__(at)
        return self.decode(sample["jpg"]), sample["cls"]


def prepare(photographs: Path, folder: Path) -> None:
    """MDS shards of 64 MB at most, the library's default."""
    with streaming.MDSWriter(out=str(folder), columns={"jpg": "bytes", "cls": "int"}) as writer:
        for path, label in labelled(photographs):
            writer.write({"jpg": path.read_bytes(), "cls": label})


def batches(source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches, epoch after epoch; workers live on between epochs."""
    clean_stale_shared_memory()
    dataset = Photographs(from_bytes(work, setting), local=str(source), shuffle=True, batch_size=BATCH_SIZE)
    loader: DataLoader[Any] = DataLoader(
        dataset, batch_size=BATCH_SIZE, num_workers=NUM_WORKERS, persistent_workers=True, drop_last=True
    )
    while True:
        yield from loader
