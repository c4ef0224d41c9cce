"""Existing shards as a source: mixed anew, cut anew, samples whose members lie apart joined."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from headrace._base.units import count
from headrace.errors import SourceError
from headrace.pack.catalog import CatalogBuilder
from headrace.pack.destination import CLASS_NAMES
from headrace.pack.options import PackOptions
from headrace.pack.source import Scan
from headrace.shards import DatasetIndex, ShardIndex, expand_urls
from headrace.sources.kinds import SourceKind


class ShardsSource:
    """Each sample of the shards is a sample; its fields keep their order and their bytes."""

    kind: SourceKind = "shards"

    def scan(self, path: str, options: PackOptions, on_found: Callable[[int], None]) -> Scan:
        """Reads or makes the index of every shard."""
        shards = expand_urls(path)
        absolute = [str(Path(shard).absolute()) for shard in shards]
        root = os.path.commonpath([Path(shard).parent for shard in absolute])
        builder = CatalogBuilder(root)
        num_samples = []
        for shard in absolute:
            num_samples.append(add_shard(builder, shard, root))
            on_found(len(builder.keys))
        if not builder.keys:
            raise SourceError("the shards hold no samples", path=path)
        notes = tell_apart(builder, absolute, num_samples)
        return Scan(catalog=builder.build(), class_names=class_names_of(path), notes=notes)


def add_shard(builder: CatalogBuilder, shard: str, root: str) -> int:
    """Adds the samples of one shard; returns their number."""
    index = ShardIndex.open(shard)
    table = index.table
    file_id = builder.open_file(shard.removeprefix(f"{root}/"), Path(shard).stat().st_mtime_ns)
    starts = table.sample_starts.tolist()
    rows = zip(table.field_ids.tolist(), table.offsets.tolist(), table.sizes.tolist(), strict=True)
    for sample in range(index.num_samples):
        for _ in range(starts[sample + 1] - starts[sample]):
            field_id, offset, size = next(rows)
            builder.add_range(table.fields[field_id], file_id, offset, size)
        builder.end_sample(table.key(sample))
    return index.num_samples


def tell_apart(builder: CatalogBuilder, shards: Sequence[str], num_samples: Sequence[int]) -> tuple[str, ...]:
    """Puts the name of its shard before each key where shards use the same keys, which is common (`000000`, ...)."""
    if len(set(builder.keys)) == len(builder.keys):
        return ()
    names = [Path(shard).name.partition(".")[0] for shard in shards]
    if len(set(names)) != len(names):
        raise SourceError(
            "several shards use the same keys, and have the same name",
            got=f"{count(len(builder.keys), 'sample')}, {count(len(set(builder.keys)), 'different key')}",
            remedy="Pack the folders one by one.",
        )
    owners = np.repeat(np.arange(len(shards)), num_samples).tolist()
    builder.keys = [f"{names[owner]}/{key}" for owner, key in zip(owners, builder.keys, strict=True)]
    return ("several shards use the same keys: the name of the shard is put before each of them",)


def class_names_of(path: str) -> tuple[str, ...] | None:
    """The class names that the dataset index beside the shards knows."""
    names = DatasetIndex.open(path).extra.get(CLASS_NAMES)
    return tuple(map(str, names)) if isinstance(names, list) else None
