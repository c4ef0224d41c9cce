"""Named arrays in one file: the safetensors format.

A little-endian u64 with the size of a JSON header, the header, the arrays. They are read, not mapped: a map of a file
that somebody cuts, or that a server of files replaces, ends the process with a bus error when it is looked at, and
what was checked could change afterwards. It is parsed here so that they come in one read, without a copy.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._base.units import count
from headrace.errors import IndexFormatError
from headrace.shards.plain_file import opened_plain

LARGEST_HEADER = 16 << 20
"""Bytes; parsed JSON takes up to thirty times as many. It holds names of fields and classes, never of samples."""
ALIGNMENT = 8
DTYPES: dict[str, type[np.integer[Any]]] = {"U64": np.uint64, "I64": np.int64, "U32": np.uint32, "U8": np.uint8}

Columns = Mapping[str, str]
"""Names of arrays with their safetensors types, widest types first so that each array is aligned."""


def encode_arrays(arrays: Mapping[str, npt.NDArray[Any]], columns: Columns, metadata: Mapping[str, str]) -> bytes:
    """The bytes of a file: the same for the same arrays and metadata."""
    typed = {name: np.ascontiguousarray(arrays[name], dtype=DTYPES[kind]) for name, kind in columns.items()}
    header: dict[str, Any] = {"__metadata__": dict(metadata)}
    end = 0
    for name, array in typed.items():
        header[name] = {"dtype": columns[name], "shape": [len(array)], "data_offsets": [end, end + array.nbytes]}
        end += array.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return b"".join([len(text).to_bytes(8, "little"), text, *(array.tobytes() for array in typed.values())])


def read_metadata(path: str) -> dict[str, str]:
    """The metadata of a file; its arrays are not touched. Raises `IndexFormatError` or `OSError`."""
    with opened_plain(path) as file:
        header, _ = parse_header(file.read(ALIGNMENT), file.read, os.fstat(file.fileno()).st_size)
    return metadata_of(header)


def read_arrays(
    path: str, columns: Columns, most_bytes: Callable[[dict[str, str]], int]
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, str]]:
    """The arrays of a file, in memory of this process, and its metadata.

    Args:
        path: The file.
        columns: What is to be in it.
        most_bytes: The most that a file with this metadata can hold beside its header.

    Raises:
        IndexFormatError: It is no such file, or an array is missing, of another type, or outside of the file; or the
            file is larger than it can be, or changed while it was read.
        OSError: It cannot be read.
    """
    with opened_plain(path) as file:
        before = os.fstat(file.fileno())
        header, start = parse_header(file.read(ALIGNMENT), file.read, before.st_size)
        metadata = metadata_of(header)
        if before.st_size - start > most_bytes(metadata):
            raise IndexFormatError("an index is larger than what it describes", got=count(before.st_size, "byte"))
        data = np.empty(before.st_size - start, dtype=np.uint8)
        if file.readinto(data.data) != len(data) or stands_for(os.fstat(file.fileno())) != stands_for(before):
            raise IndexFormatError("an index changed while it was read", path=path)
    return {name: column_of(data, header.get(name), kind) for name, kind in columns.items()}, metadata


def stands_for(facts: os.stat_result) -> tuple[int, int]:
    """What tells of a change: size and time."""
    return facts.st_size, facts.st_mtime_ns


def parse_header(prefix: bytes, read: Callable[[int], bytes], file_size: int) -> tuple[dict[str, Any], int]:
    """The JSON header, and where the data begins."""
    size = int.from_bytes(prefix, "little")
    if len(prefix) < ALIGNMENT or size > min(LARGEST_HEADER, file_size - ALIGNMENT) or size % ALIGNMENT:
        raise IndexFormatError("a file is no index", got=f"{count(file_size, 'byte')}, header of {size}")
    try:
        header = json.loads(read(size))
    except (ValueError, RecursionError) as error:
        raise IndexFormatError("the header of an index is no JSON") from error
    if not isinstance(header, dict):
        raise IndexFormatError("the header of an index is no JSON object")
    return header, ALIGNMENT + size


def metadata_of(header: Mapping[str, Any]) -> dict[str, str]:
    """The strings under `__metadata__`."""
    metadata = header.get("__metadata__")
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise IndexFormatError("the header of an index has no usable metadata")
    return metadata


def column_of(data: npt.NDArray[np.uint8], entry: Any, kind: str) -> npt.NDArray[Any]:
    """One array as a view into the data."""
    try:
        begin, end = (int(offset) for offset in entry["data_offsets"])
        length = int(entry["shape"][0])
        stated = entry["dtype"]
    except (KeyError, TypeError, ValueError, IndexError, OverflowError) as error:
        raise IndexFormatError("an index lacks a column", got=repr(error)) from error
    width = np.dtype(DTYPES[kind]).itemsize
    if stated != kind or not 0 <= begin <= end <= len(data) or end - begin != length * width or begin % width:
        raise IndexFormatError("a column of an index lies outside of its file", got=repr(entry))
    return data[begin:end].view(DTYPES[kind])
