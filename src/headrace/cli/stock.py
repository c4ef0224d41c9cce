"""Shards as somebody reads them without headrace: one sample at a time, Pillow and torchvision."""

from __future__ import annotations

import io
import os
from typing import Any

import numpy as np

from headrace.shards import ShardIndex, expand_urls


class StockShards:
    """A map-style dataset of the images of shards: `pread` at the member's place, Pillow, then the transform.

    Args:
        source: Shards, as `headrace.ShardDataset` takes them.
        field: Field of the image.
        transform: Gets the image in RGB.
    """

    def __init__(self, source: str, field: str, transform: Any) -> None:
        self.shards = expand_urls(source)
        self.transform = transform
        self.fds: dict[int, int] = {}
        places = [image_places(shard, field) for shard in self.shards]
        self.offsets = np.concatenate([offsets for offsets, _ in places])
        self.sizes = np.concatenate([sizes for _, sizes in places])
        self.owners = np.repeat(np.arange(len(places)), [len(offsets) for offsets, _ in places])

    def __len__(self) -> int:
        """Number of images."""
        return len(self.offsets)

    def __getitem__(self, position: int) -> tuple[Any, int]:
        """One image after the transform, and a label that stands in for any."""
        from PIL import Image

        shard = int(self.owners[position])
        if shard not in self.fds:
            self.fds[shard] = os.open(self.shards[shard], os.O_RDONLY)
        data = os.pread(self.fds[shard], int(self.sizes[position]), int(self.offsets[position]))
        with Image.open(io.BytesIO(data)) as image:
            return self.transform(image.convert("RGB")), 0

    def __getstate__(self) -> dict[str, Any]:
        """A worker opens the shards on its own."""
        return {**self.__dict__, "fds": {}}

    def close(self) -> None:
        """Closes the shards that this process has open."""
        while self.fds:
            os.close(self.fds.popitem()[1])


def image_places(shard: str, field: str) -> tuple[Any, Any]:
    """Offsets and sizes of the samples that have the field."""
    index = ShardIndex.open(shard)
    ids = index.table.field_numbers([field])
    offsets, sizes, present = index.locate(np.arange(index.num_samples, dtype=np.int64), ids)
    return offsets[present], sizes[present]


def image_field(source: str, known: tuple[str, ...]) -> str | None:
    """The first known image field that the first shard has."""
    fields = ShardIndex.open(expand_urls(source)[0]).fields
    return next((field for field in known if field in fields), None)
