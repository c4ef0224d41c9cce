"""Samples of tar shards by the batch: located through the shard indexes, read natively into one arena."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from headrace.contracts import I64, U64, Allocate, ByteColumn, Column, Layout, SampleName
from headrace.datasets.fields import SampleShape
from headrace.errors import ShardChangedError, StorageError
from headrace.shards import DatasetIndex, FieldRanges, RangeLease, ShardSet
from headrace.storage import read_ranges
from headrace.storage.arena import ENDED_EARLY


class ShardSource:
    """The fields that a shape names, of the samples of a dataset."""

    def __init__(self, index: DatasetIndex, shape: SampleShape) -> None:
        self.index = index
        self.shape = shape
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
        """The bytes of all fields in one arena.

        Raises:
            ShardError: A shard is not what its index says.
            StorageError: A shard cannot be opened or read.
        """
        entries = [entry.extensions for entry in self.shape.entries]
        with self.shards.fetch_ranges(ids, entries) as lease:
            offsets = np.concatenate([column.offsets for column in lease.columns])
            sizes = np.concatenate([column.sizes for column in lease.columns])
            present = np.flatnonzero(np.concatenate([column.present for column in lease.columns]))
            fds = np.tile(lease.fds, len(entries))
            read = read_ranges(fds[present], offsets[present], sizes[present], allocate)
            self._check(ids, present, read.codes)
        addresses = np.zeros(len(sizes), dtype=np.uint64)
        addresses[present] = read.addresses
        return self._columns(lease, addresses.reshape(len(entries), -1), read.arena)

    def names(self, ids: I64) -> Sequence[SampleName]:
        """Shard and key of each sample."""
        return self.shards.names(ids)

    def read_ahead(self, first: int, count: int, part: int, num_parts: int) -> None:
        """Asks storage for `count` samples of one shard, part `part` of `num_parts` of their bytes."""
        self.shards.read_ahead(first, count, part, num_parts)

    def close(self) -> None:
        """Closes the shards that nobody reads; they open again when they are asked for."""
        self.shards.close()

    def _columns(self, lease: RangeLease, addresses: U64, arena: Any) -> Mapping[str, Column]:
        columns: dict[str, Column] = {}
        for place, (entry, ranges) in enumerate(zip(self.shape.entries, lease.columns, strict=True)):
            columns[entry.name] = ByteColumn(
                addresses=addresses[place],
                sizes=ranges.sizes,
                present=ranges.present,
                owner=arena,
                extensions=_extensions(entry.extensions, ranges),
                faults=lease.faults,
            )
        return columns

    def _check(self, ids: I64, present: npt.NDArray[np.intp], codes: npt.NDArray[np.int32]) -> None:
        """Raises what the first range that failed says of its shard."""
        failed = np.flatnonzero(codes)
        if not len(failed):
            return
        code, row = int(codes[failed[0]]), int(present[failed[0]]) % len(ids)
        name = self.names(ids[row : row + 1])[0]
        if code == ENDED_EARLY:
            raise ShardChangedError(
                "a shard ends before a sample that its index lists",
                remedy="Restore the shard, or index it anew (`headrace index`)",
                shard=name.shard,
                key=name.key,
                stage="fetch",
            )
        raise StorageError(
            f"cannot read a shard: {os.strerror(code)}", shard=name.shard, key=name.key, stage="fetch", retryable=True
        )


def _extensions(extensions: tuple[str, ...], ranges: FieldRanges) -> Sequence[str] | None:
    """The extension of each row, where an entry has alternatives."""
    if len(extensions) == 1:
        return None
    return [extensions[choice] for choice in ranges.choices.tolist()]
