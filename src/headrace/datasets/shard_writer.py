"""The shard writer of the public face: values are encoded by the codec of their extension."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from headrace import codecs, shards
from headrace._base.units import parse_bytes

DEFAULT_SHARD_SIZE_BYTES = 2 << 30


class ShardWriter(shards.ShardWriter):
    """Writes samples to tar shards in WebDataset layout; a context manager.

    `write({"__key__": "000042", "jpg": jpeg_bytes, "cls": 7, "json": {...}})`: bytes are written as they are, other
    values through the codec of their extension (integers, text, JSON, arrays, tensors, PIL images).

    The same samples give the same bytes on any machine. A shard appears under its name only when it is whole; leaving
    the block with an exception leaves the finished shards and nothing else.

    Args:
        pattern: Path with one place for the number (`data/train-%06d.tar`), or a folder.
        shard_size_bytes: Upper bound of a shard's size, in bytes or as "2GiB".
        samples_per_shard: Samples of each shard, in place of the size.
        counts: Exact number of samples of each shard.
        allow_pickle: Extensions that may be written although reading them can run code.
        write_index: Whether to write an index beside each shard.
        write_dataset_index: Whether to write `index.json` at the end.
        extra: Facts that go into `index.json` (such as "class_names").
        overwrite: Whether shards of these names may be replaced.

    Raises:
        OptionError: An argument that is not accepted.
        KeyRefusedError: A key that would read back differently.
        DiskFullError: No space is left; nothing half-written stays.
    """

    def __init__(
        self,
        pattern: str | os.PathLike[str],
        *,
        shard_size_bytes: int | str = DEFAULT_SHARD_SIZE_BYTES,
        samples_per_shard: int | None = None,
        counts: Iterable[int] | None = None,
        allow_pickle: Sequence[str] = (),
        write_index: bool = True,
        write_dataset_index: bool = True,
        extra: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        super().__init__(
            pattern,
            shard_size_bytes=parse_bytes(shard_size_bytes, name="shard_size_bytes"),
            samples_per_shard=samples_per_shard,
            counts=counts,
            allow_pickle=tuple(allow_pickle),
            encode=codecs.encode,
            write_index=write_index,
            write_dataset_index=write_dataset_index,
            extra=extra,
            overwrite=overwrite,
        )
