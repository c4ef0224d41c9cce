"""The index file of a shard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from headrace._base.units import count
from headrace.errors import IndexFormatError
from headrace.shards.arrays_file import encode_arrays, read_arrays, read_metadata
from headrace.shards.stamp import Stamp
from headrace.shards.table import IndexTable

SUFFIX = ".index"
FORMAT = "headrace-shard-index"
VERSION = 1
LARGEST_FILE = (1 << 63) - 1
"""Bytes; file systems know no larger ones."""
SMALLEST_COLUMNS = 64
"""Bytes; those of a shard without samples have fewer."""
COLUMNS = {
    "key_starts": "U64",
    "offsets": "U64",
    "sizes": "U64",
    "field_ids": "U32",
    "sample_starts": "U32",
    "keys": "U8",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexHead:
    """What an index file says without its columns."""

    stamp: Stamp
    fields: tuple[str, ...]
    num_samples: int
    md5: str | None = None
    """md5 of the shard, where whoever wrote the index knew it."""
    num_archives: int = 1
    """Archives one after another in the shard."""


def encode_index(table: IndexTable, head: IndexHead) -> bytes:
    """The bytes of an index file: the same for the same table and head."""
    return encode_arrays({name: getattr(table, name) for name in COLUMNS}, COLUMNS, metadata_of(head))


def read_head(path: str) -> IndexHead:
    """The head of an index file; its columns are not touched. Raises `IndexFormatError` or `OSError`."""
    return head_of(read_metadata(path))


def read_index(path: str) -> tuple[IndexTable, IndexHead]:
    """The index file, checked.

    Raises `IndexFormatError` where it is not a valid index of this version, `OSError` where it cannot be read.
    """
    columns, metadata = read_arrays(path, COLUMNS, lambda facts: largest_columns(head_of(facts).stamp.size_bytes))
    head = head_of(metadata)
    table = IndexTable(fields=head.fields, **columns)
    table.check(head.stamp.size_bytes)
    if table.num_samples != head.num_samples:
        raise IndexFormatError("a shard index contradicts itself", got=count(table.num_samples, "sample"), path=path)
    return table, head


def largest_columns(shard_bytes: int) -> int:
    """The most that the index of a shard of this size can take beside its header.

    Each member has a header of 512 bytes in the shard, and at most 32 bytes in the columns of numbers. A key lies in
    that header too, or in blocks of its own.
    """
    return shard_bytes + SMALLEST_COLUMNS


def metadata_of(head: IndexHead) -> dict[str, str]:
    """The head as strings."""
    facts = {**asdict(head.stamp), "num_samples": head.num_samples, "md5": head.md5, "num_archives": head.num_archives}
    strings = {name: str(value) for name, value in facts.items() if value is not None}
    return {"format": FORMAT, "version": str(VERSION), "fields": json.dumps(head.fields), **strings}


def head_of(facts: Mapping[str, str]) -> IndexHead:
    """The head from the metadata of an index file."""
    if facts.get("format") != FORMAT or facts.get("version") != str(VERSION):
        raise IndexFormatError("a file is no shard index of this version", accepted=f"{FORMAT} {VERSION}")
    try:
        stamp = Stamp(
            size_bytes=int(facts["size_bytes"]),
            headers=facts["headers"],
            mtime_ns=int(facts["mtime_ns"]) if "mtime_ns" in facts else None,
            place=facts.get("place"),
        )
        head = IndexHead(
            stamp=stamp,
            fields=tuple(json.loads(facts["fields"])),
            num_samples=int(facts["num_samples"]),
            md5=facts.get("md5"),
            num_archives=int(facts["num_archives"]),
        )
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise IndexFormatError("the header of a shard index lacks something", got=repr(error)) from error
    if not is_sane(head):
        raise IndexFormatError("the header of a shard index holds what no shard has")
    return head


def is_sane(head: IndexHead) -> bool:
    """Whether size and count are those of some file, and each field has one name."""
    names = all(isinstance(name, str) for name in head.fields) and len(set(head.fields)) == len(head.fields)
    return names and 0 <= head.stamp.size_bytes <= LARGEST_FILE and 0 <= head.num_samples <= head.stamp.size_bytes
