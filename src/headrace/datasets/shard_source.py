"""Samples of tar shards by the batch: located through the shard indexes, read natively into one arena."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import xxhash

from headrace.contracts import I64, Allocate, ByteColumn, Column, Layout, SampleName
from headrace.datasets.fields import SampleShape
from headrace.datasets.merge_columns import merge_bytes
from headrace.errors import ShardChangedError, StorageError
from headrace.shards import DatasetIndex, ShardSet
from headrace.storage import read_ranges
from headrace.storage.arena import ENDED_EARLY


class ShardSource:
    """The fields that a shape names, of the samples of a dataset."""

    def __init__(self, index: DatasetIndex, shape: SampleShape) -> None:
        self.index = index
        self.shape = shape
        self.entries = tuple(dict.fromkeys(entry.extensions for entry in shape.entries))
        self.shards = ShardSet(index)

    def layout(self) -> Layout:
        """The shards in their order."""
        return Layout(samples=self.index.samples, sizes=self.index.sizes)

    def identity(self) -> Mapping[str, Any]:
        """Number of shards and samples, and a hash of (base name, samples, size) of each shard in order."""
        digest = xxhash.xxh3_64()
        for shard in self.index.shards:
            digest.update(f"{shard.name}\0{shard.num_samples}\0{shard.size_bytes}\0".encode("utf-8", "surrogateescape"))
        num_shards = len(self.index.samples)
        return {"kind": "shards", "shards": num_shards, "num": self.index.num_samples, "content": digest.hexdigest()}

    def fetch(self, ids: I64, allocate: Allocate) -> Mapping[str, Column]:
        """The bytes of all fields, in one arena unless they lie in more shards than may be open at once.

        Raises:
            ShardError: A shard is not what its index says.
            StorageError: A shard cannot be opened or read.
        """
        pieces = [(rows, self._fetch(ids[rows], allocate)) for rows in self.shards.parts(ids)]
        if len(pieces) == 1:
            return pieces[0][1]
        names = [entry.name for entry in self.shape.entries]
        return {name: merge_bytes([(rows, columns[name]) for rows, columns in pieces], len(ids)) for name in names}

    def _fetch(self, ids: I64, allocate: Allocate) -> dict[str, ByteColumn]:
        """The bytes of all fields of samples whose shards may be open at once."""
        with self.shards.fetch_ranges(ids, self.entries) as lease:
            read = read_ranges(lease.fds, lease.offsets, lease.sizes, allocate)
            if read.failed:
                raise self._error(ids, *min(read.failed.items()))
        columns = {
            extensions: ByteColumn(
                addresses=read.addresses[place],
                sizes=lease.sizes[place],
                absent=lease.absent[place],
                owner=read.arena,
                choices=lease.choices[place] if len(extensions) > 1 else None,
                faults=lease.faults,
            )
            for place, extensions in enumerate(self.entries)
        }
        return {entry.name: columns[entry.extensions] for entry in self.shape.entries}

    def names(self, ids: I64) -> Sequence[SampleName]:
        """Shard and key of each sample."""
        return self.shards.names(ids)

    def read_ahead(self, first: int, count: int, part: int, num_parts: int) -> None:
        """Asks storage for `count` samples of one shard, part `part` of `num_parts` of their bytes."""
        self.shards.read_ahead(first, count, part, num_parts)

    def close(self) -> None:
        """Closes the shards that nobody reads; they open again when they are asked for."""
        self.shards.close()

    def _error(self, ids: I64, place: int, code: int) -> ShardChangedError | StorageError:
        """What the range at a place, fields by rows, that could not be read says of its shard."""
        name = self.names(ids[place % len(ids) :][:1])[0]
        if code == ENDED_EARLY:
            return ShardChangedError(
                "a shard ends before a sample that its index lists",
                remedy="Restore the shard, or index it anew (`headrace index`)",
                shard=name.shard,
                key=name.key,
                stage="fetch",
            )
        return StorageError(
            f"cannot read a shard: {os.strerror(code)}", shard=name.shard, key=name.key, stage="fetch", retryable=True
        )
