"""An index.json as columns: compiled once into a file of arrays where it is large."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

import numpy as np
import xxhash

from headrace._base.atomic import write_atomic
from headrace._base.cache_folder import cache_folder
from headrace._base.os_errors import from_os_error
from headrace.contracts import I64, U8, U64
from headrace.errors import IndexFormatError, SourceError, StorageError
from headrace.shards.arrays_file import encode_arrays, read_arrays
from headrace.shards.dataset_json import EXTRA, FIELDS, HEADERS, MOST_JSON_BYTES, parse_document
from headrace.shards.faults import text_of
from headrace.shards.plain_file import read_plain
from headrace.shards.shard_info import ShardInfo
from headrace.shards.table import starts_of
from headrace.shards.urls import INDEX_NAME

LARGE_BYTES = 1 << 20
"""From this size on parsing the JSON takes longer than the rest of the start."""
FORMAT = "headrace-catalog-2"
TEXTS = 3
"""Texts of a shard."""
COLUMNS = {"text_starts": "U64", "samples": "I64", "sizes": "I64", "texts": "U8"}


class ShardList(Sequence[ShardInfo]):
    """The shards of an index.json; an entry is made when it is looked at."""

    def __init__(self, *, folder: str, texts: U8, text_starts: U64, samples: I64, sizes: I64) -> None:
        self.folder = folder
        self.texts = texts
        self.text_starts = text_starts
        self.samples = samples
        self.sizes = sizes

    def __len__(self) -> int:
        return len(self.samples)

    @overload
    def __getitem__(self, position: int) -> ShardInfo: ...
    @overload
    def __getitem__(self, position: slice) -> tuple[ShardInfo, ...]: ...
    def __getitem__(self, position: int | slice) -> ShardInfo | tuple[ShardInfo, ...]:
        if isinstance(position, slice):
            return tuple(self.info(i) for i in range(len(self))[position])
        return self.info(range(len(self))[position])

    def __iter__(self) -> Iterator[ShardInfo]:
        return map(self.info, range(len(self)))

    def info(self, shard: int) -> ShardInfo:
        """One shard by its number, from 0."""
        url, md5, headers = (self.text(TEXTS * shard + part) for part in range(TEXTS))
        return ShardInfo(
            url=os.path.join(self.folder, url),
            name=os.path.basename(url),
            num_samples=int(self.samples[shard]),
            size_bytes=int(self.sizes[shard]),
            md5=md5 or None,
            headers=headers or None,
        )

    def text(self, number: int) -> str:
        """One of the texts: url, md5 and hash of headers of the first shard, of the second, ..."""
        return text_of(self.texts[int(self.text_starts[number]) : int(self.text_starts[number + 1])].tobytes())

    def select(self, positions: I64) -> ShardList:
        """The list of some of the shards."""
        numbers = [TEXTS * int(position) + part for position in positions for part in range(TEXTS)]
        texts = [self.text(number).encode("utf-8", "surrogateescape") for number in numbers]
        return ShardList(
            folder=self.folder,
            texts=np.frombuffer(b"".join(texts), dtype=np.uint8),
            text_starts=starts_of(np.array([len(text) for text in texts], dtype=np.int64)).astype(np.uint64),
            samples=self.samples[positions],
            sizes=self.sizes[positions],
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Catalog:
    """The content of an index.json."""

    shards: ShardList
    fields: tuple[str, ...] | None
    """None where the index was written by somebody else."""
    extra: Mapping[str, Any]


def catalog_beside(names: Sequence[str]) -> Catalog | None:
    """The index.json beside these shards with exactly these in it, or None where there is none or it lacks one."""
    folder = os.path.dirname(names[0])
    path = os.path.join(folder, INDEX_NAME)
    if not os.path.isfile(path):
        return None
    catalog = open_catalog(path)
    shards = catalog.shards
    rows = {os.path.join(folder, shards.text(TEXTS * row)): row for row in range(len(shards))}
    positions = [rows.get(name) for name in names]
    if None in positions:
        return None
    if positions == list(range(len(shards))):
        return catalog
    return replace(catalog, shards=shards.select(np.array(positions, dtype=np.int64)))


def open_catalog(path: str | os.PathLike[str]) -> Catalog:
    """An index.json. A large one is compiled into the cache folder at its first use, and read from there.

    Raises:
        IndexFormatError: It is no wids index, or of a newer version.
        StorageError: It cannot be read.
        SourceError: It gives no size for a shard, and the shard is missing.
    """
    try:
        data = read_plain(path, MOST_JSON_BYTES)
    except OSError as error:
        raise from_os_error(error, "a dataset index cannot be read", path) from error
    folder = os.path.dirname(os.fspath(path))
    if len(data) < LARGE_BYTES:
        return catalog_of(parse_document(data, os.fspath(path)), folder)
    try:
        compiled = cache_folder("catalogs") / f"{xxhash.xxh3_128_hexdigest(data)}.catalog"
    except StorageError:
        return catalog_of(parse_document(data, os.fspath(path)), folder)
    with contextlib.suppress(OSError, IndexFormatError):
        return compiled_catalog(str(compiled), folder, len(data))
    document = parse_document(data, os.fspath(path))
    catalog = catalog_of(document, folder)
    if all(entry.get("filesize") is not None for entry in document["shardlist"]):
        with contextlib.suppress(StorageError):
            write_atomic(compiled, encode_catalog(catalog), durable=False)
    return catalog


def catalog_of(document: Mapping[str, Any], folder: str) -> Catalog:
    """The columns of a parsed index.json."""
    entries = document["shardlist"]
    texts = [
        str(text).encode("utf-8", "surrogateescape")
        for entry in entries
        for text in (entry["url"], entry.get("md5sum") or "", entry.get(HEADERS) or "")
    ]
    shards = ShardList(
        folder=folder,
        texts=np.frombuffer(b"".join(texts), dtype=np.uint8),
        text_starts=starts_of(np.array([len(text) for text in texts], dtype=np.int64)).astype(np.uint64),
        samples=np.array([entry["nsamples"] for entry in entries], dtype=np.int64),
        sizes=np.array([size_of(entry, folder) for entry in entries], dtype=np.int64),
    )
    fields = document.get(FIELDS)
    return Catalog(
        shards=shards,
        fields=None if fields is None else tuple(map(str, fields)),
        extra=dict(document.get(EXTRA) or {}),
    )


def size_of(entry: Mapping[str, Any], folder: str) -> int:
    """The size of a shard; asked of the file system where the index does not say it."""
    size = entry.get("filesize")
    if size is not None:
        return int(size)
    path = os.path.join(folder, entry["url"])
    try:
        return os.stat(path).st_size
    except OSError as error:
        raise SourceError("a shard of a dataset index is missing", got=path) from error


def encode_catalog(catalog: Catalog) -> bytes:
    """The compiled form."""
    shards = catalog.shards
    facts = {"format": FORMAT, "facts": json.dumps({"fields": catalog.fields, "extra": dict(catalog.extra)})}
    return encode_arrays({name: getattr(shards, name) for name in COLUMNS}, COLUMNS, facts)


def compiled_catalog(path: str, folder: str, json_bytes: int) -> Catalog:
    """A compiled index.json. Its columns take less than twice its text. Raises `IndexFormatError` or `OSError`."""
    columns, metadata = read_arrays(path, COLUMNS, lambda _: 2 * json_bytes)
    if metadata.get("format") != FORMAT:
        raise IndexFormatError("a file is no compiled dataset index", path=path)
    facts = json.loads(metadata["facts"])
    fields = facts["fields"]
    return Catalog(
        shards=ShardList(folder=folder, **columns),
        fields=None if fields is None else tuple(fields),
        extra=facts["extra"],
    )
