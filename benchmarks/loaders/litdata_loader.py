"""LitData: chunks made by its own `optimize`, streamed by its own loader."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import litdata

from benchmarks.loaders import labelled
from benchmarks.works import BATCH_SIZE, NUM_WORKERS, from_bytes

SETTINGS = ("pillow", "torchvision.io")


class Photographs(litdata.StreamingDataset):
    """Decodes what StreamingDataset reads."""

    def __init__(self, decode: Callable[[bytes], Any], *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.decode = decode

    def __getitem__(self, index: Any) -> Any:
        """The image and the label of one sample."""
        sample = super().__getitem__(index)
        return self.decode(sample["jpg"]), sample["cls"]


def read_photograph(item: tuple[str, int]) -> dict[str, Any]:
    """One sample for `optimize`."""
    return {"jpg": Path(item[0]).read_bytes(), "cls": item[1]}


def prepare(photographs: Path, folder: Path) -> None:
    """Chunks of 64 MB, the library's usual size."""
    litdata.optimize(
        fn=read_photograph,
        inputs=[(str(path), label) for path, label in labelled(photographs)],
        output_dir=str(folder),
        chunk_bytes="64MB",
        num_workers=1,
    )


def batches(source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches, epoch after epoch; workers live on between epochs."""
    dataset = Photographs(from_bytes(work, setting), str(source), shuffle=True, drop_last=True)
    loader = litdata.StreamingDataLoader(
        dataset, batch_size=BATCH_SIZE, num_workers=NUM_WORKERS, persistent_workers=True, drop_last=True
    )
    while True:
        yield from loader
