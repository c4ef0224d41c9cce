"""`index.json`: a wids index of a dataset's shards, with keys of our own.

wids (part of the webdataset project) reads `__kind__`, `wids_version` and `shardlist`, and leaves other keys alone.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any

from headrace._base.atomic import write_atomic
from headrace.errors import IndexFormatError
from headrace.shards.shard_info import ShardInfo

KIND = "wids-shard-index-v1"
VERSION = 1
FIELDS = "headrace_fields"
"""Names of all fields, in the order of their first use."""
EXTRA = "headrace"
"""Facts of whoever packed the dataset (class names, label order, ...)."""
MOST_JSON_BYTES = 256 << 20
"""Some million shards; parsed JSON takes ten times as much memory."""
HEADERS = "headrace_headers"
"""In an entry: hash of some header blocks of the shard."""


def dataset_document(
    shards: Sequence[ShardInfo], fields: Sequence[str], extra: Mapping[str, Any], folder: str
) -> dict[str, Any]:
    """The content of an index.json that lies in `folder`; shards in or below it are named relative to it."""
    return {
        "__kind__": KIND,
        "wids_version": VERSION,
        "shardlist": [shard_entry(shard, folder) for shard in shards],
        FIELDS: list(fields),
        EXTRA: dict(extra),
    }


def shard_entry(shard: ShardInfo, folder: str) -> dict[str, Any]:
    """One entry of `shardlist`."""
    path, root = os.path.abspath(shard.url), os.path.abspath(folder)
    inside = os.path.commonpath([path, root]) == root
    entry: dict[str, Any] = {
        "url": os.path.relpath(path, root) if inside else path,
        "nsamples": shard.num_samples,
        "filesize": shard.size_bytes,
    }
    if shard.md5 is not None:
        entry["md5sum"] = shard.md5
    if shard.headers is not None:
        entry[HEADERS] = shard.headers
    return entry


def write_document(path: str | os.PathLike[str], document: Mapping[str, Any]) -> None:
    """Writes an index.json: one shard a line, the same bytes for the same content."""
    entries = ",\n".join("  " + json.dumps(entry) for entry in document["shardlist"])
    parts = []
    for name, value in document.items():
        parts.append(f"{json.dumps(name)}: " + (f"[\n{entries}\n]" if name == "shardlist" else json.dumps(value)))
    write_atomic(path, ("{\n" + ",\n".join(parts) + "\n}\n").encode())


def parse_document(data: bytes, path: str) -> dict[str, Any]:
    """The content of an index.json, checked. Raises `IndexFormatError`."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise IndexFormatError("a dataset index is no JSON", got=str(error), path=path) from error
    if not isinstance(document, dict) or document.get("__kind__") != KIND:
        raise IndexFormatError("a file is no dataset index", accepted=f"JSON with __kind__ {KIND!r}", path=path)
    if document.get("wids_version") != VERSION:
        raise IndexFormatError(
            "a dataset index has another version", got=document.get("wids_version"), accepted=VERSION, path=path
        )
    entries = document.get("shardlist")
    if not isinstance(entries, list) or not all(is_entry(entry) for entry in entries):
        raise IndexFormatError(
            "a dataset index has no usable shard list", accepted="entries with url, nsamples and filesize", path=path
        )
    num_samples = sum(entry["nsamples"] for entry in entries)
    if not is_count(num_samples):
        raise IndexFormatError(
            "a dataset index counts more samples than there can be", got=num_samples, accepted="at most 2^53", path=path
        )
    fields, extra = document.get(FIELDS), document.get(EXTRA)
    if not (fields is None or (isinstance(fields, list) and all(isinstance(name, str) for name in fields))):
        raise IndexFormatError(
            "a dataset index has unusable field names", got=repr(fields)[:80], accepted="a list of strings", path=path
        )
    if not (extra is None or isinstance(extra, dict)):
        raise IndexFormatError(
            "a dataset index has unusable facts", got=repr(extra)[:80], accepted="an object", path=path
        )
    return document


def is_entry(entry: Any) -> bool:
    """Whether an entry names a shard with a count, and a sane size and checksum where it has them."""
    return (
        isinstance(entry, dict)
        and is_url(entry.get("url"))
        and is_count(entry.get("nsamples"))
        and (entry.get("filesize") is None or is_count(entry["filesize"]))
        and is_checksum(entry.get("md5sum"))
        and is_checksum(entry.get(HEADERS))
    )


def is_checksum(value: Any) -> bool:
    """Whether a value can be a checksum, or None."""
    return value is None or (isinstance(value, str) and value.isascii())


def is_url(value: Any) -> bool:
    """Whether a value can name a file: not empty, no NUL, and text that a file name can hold."""
    if not isinstance(value, str) or not value or "\0" in value:
        return False
    try:
        os.fsencode(value)
    except UnicodeEncodeError:
        return False
    return True


def is_count(value: Any) -> bool:
    """Whether a value is an integer from 0 to 2^53."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 1 << 53
