"""Grain: ArrayRecord files, a MapDataset, worker processes or threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grain
from array_record.python.array_record_module import ArrayRecordWriter

from benchmarks.loaders import labelled
from benchmarks.works import BATCH_SIZE, NUM_WORKERS, from_bytes

SETTINGS = ("processes pillow", "processes torchvision.io", "threads pillow", "threads torchvision.io")


def prepare(photographs: Path, folder: Path) -> None:
    """ArrayRecord files of 500 photographs; the first byte of a record is the label."""
    folder.mkdir(parents=True)
    files = labelled(photographs)
    for first in range(0, len(files), 500):
        writer = ArrayRecordWriter(str(folder / f"photos-{first // 500:06d}.array_record"), "group_size:1")
        for path, label in files[first : first + 500]:
            writer.write(bytes([label]) + path.read_bytes())
        writer.close()


def batches(source: Path, work: str, setting: str) -> Iterator[tuple[Any, Any]]:
    """Shuffled batches, epoch after epoch."""
    how, backend = setting.split()
    decode = from_bytes(work, backend)
    records = grain.sources.ArrayRecordDataSource(sorted(str(path) for path in source.glob("*.array_record")))
    dataset = (
        grain.MapDataset.source(records)
        .shuffle(seed=0)
        .repeat()
        .map(lambda record: (decode(record[1:]).numpy(), record[0]))
        .batch(BATCH_SIZE, drop_remainder=True)
    )
    if how == "threads":
        yield from dataset.to_iter_dataset(grain.ReadOptions(num_threads=NUM_WORKERS, prefetch_buffer_size=4))
    else:
        read = grain.ReadOptions(num_threads=1, prefetch_buffer_size=2)
        yield from dataset.to_iter_dataset(read).mp_prefetch(grain.MultiprocessingOptions(num_workers=NUM_WORKERS))
