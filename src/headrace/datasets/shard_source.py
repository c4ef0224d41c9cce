"""Samples of tar shards by the batch: located through the shard indexes, read natively into one arena."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import xxhash

from headrace.contracts import I64, Allocate, ByteColumn, Column, InMemory, Layout, SampleName
from headrace.datasets.cached_bytes import CachedBytes, UnreadRanges
from headrace.datasets.fields import SampleShape
from headrace.datasets.merge_columns import merge_bytes
from headrace.errors import ShardChangedError, StorageError
from headrace.shards import DatasetIndex, RangeLease, ShardSet
from headrace.storage import PageCacheReads, read_ranges
from headrace.storage.arena import ENDED_EARLY


class ShardSource:
    """The fields that a shape names, of the samples of a dataset."""

    def __init__(self, index: DatasetIndex, shape: SampleShape) -> None:
        self.index = index
        self.shape = shape
        self.entries = tuple(dict.fromkeys(entry.extensions for entry in shape.entries))
        self.images = [
            self.entries.index(extensions)
            for extensions in self.entries
            if all(entry.kind == "image" for entry in shape.entries if entry.extensions == extensions)
        ]
        self.shards = ShardSet(index)
        self.page_cache = PageCacheReads()

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
        parts = self.shards.parts(ids)
        pieces = [(rows, self._fetch(ids[rows], allocate, may_stay=len(parts) == 1)) for rows in parts]
        if len(pieces) == 1:
            return pieces[0][1]
        names = [entry.name for entry in self.shape.entries]
        return {name: merge_bytes([(rows, columns[name]) for rows, columns in pieces], len(ids)) for name in names}

    def _fetch(self, ids: I64, allocate: Allocate, *, may_stay: bool) -> dict[str, ByteColumn]:
        """The bytes of all fields of samples whose shards may be open at once; images may stay where they are."""
        with self.shards.fetch_ranges(ids, self.entries) as lease:
            staying = self._staying(lease) if may_stay else []
            read = [number for number in range(len(self.entries)) if number not in staying]
            memory = self._read(ids, lease, read, allocate)
            if staying and not lease.keep():
                memory |= self._read(ids, lease, staying, allocate)
        places: dict[int, InMemory | CachedBytes] = {
            number: memory[number] if number in memory else self._unread(ids, lease, number, allocate)
            for number in range(len(self.entries))
        }
        columns = {
            extensions: ByteColumn(
                place=places[number],
                sizes=lease.sizes[number],
                absent=lease.absent[number],
                choices=lease.choices[number] if len(extensions) > 1 else None,
                faults=lease.faults,
            )
            for number, extensions in enumerate(self.entries)
        }
        return {entry.name: columns[entry.extensions] for entry in self.shape.entries}

    def _staying(self, lease: RangeLease) -> list[int]:
        """The entries whose images are all in the page cache, where whoever decodes them reads them best."""
        return [
            number
            for number in self.images
            if self.page_cache.found(lease.fds[number], lease.offsets[number], lease.sizes[number])
        ]

    def _unread(self, ids: I64, lease: RangeLease, number: int, allocate: Allocate) -> CachedBytes:
        """An entry in the page cache; the lease goes with it."""

        def load() -> InMemory:
            return self._read(ids, lease, [number], allocate)[number]

        return CachedBytes(UnreadRanges(lease, number, load, self.page_cache))

    def _read(self, ids: I64, lease: RangeLease, entries: list[int], allocate: Allocate) -> dict[int, InMemory]:
        """Some entries, read into one arena."""
        if not entries:
            return {}
        read = read_ranges(lease.fds[entries], lease.offsets[entries], lease.sizes[entries], allocate)
        if read.failed:
            raise self._error(ids, *min(read.failed.items()))
        return {
            number: InMemory(addresses=read.addresses[place], owner=read.arena) for place, number in enumerate(entries)
        }

    def names(self, ids: I64) -> Sequence[SampleName]:
        """Shard and key of each sample."""
        return self.shards.names(ids)

    def read_ahead(self, first: int, count: int, part: int, num_parts: int) -> None:
        """Asks storage for `count` samples of one shard, part `part` of `num_parts` of their bytes."""
        self.shards.read_ahead(first, count, part, num_parts, unless_there=self.page_cache.is_whole)

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
