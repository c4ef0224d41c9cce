"""Scanning: from a tar to the table of its samples."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace import _native
from headrace._base.os_errors import from_os_error
from headrace.contracts import Bools
from headrace.errors import HeadraceError
from headrace.shards.faults import ShardFault, content_error, read_first_bytes, structure_error, text_of
from headrace.shards.names import split_name
from headrace.shards.table import IndexTable

OnProgress = Callable[[int, int], None]
"""Called with the bytes scanned and the bytes of the shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """All that the headers of a shard say."""

    table: IndexTable
    """Every sample found, the faulty ones too."""
    whole: Bools
    """Samples without a fault that are known to be complete, shape (samples,)."""
    faults: tuple[ShardFault, ...]
    """The fault that ended the shard first, then those of single samples in their order, 1,000 of them at most."""
    num_archives: int
    num_members: int
    """Members of any kind, directories too."""
    interleaved_key: str | None
    """First key whose members lie apart."""


def scan_file(fd: int, size_bytes: int, shard: str, on_progress: OnProgress | None = None) -> Scan:
    """Scans an open shard. Faults are reported, not raised; only what cannot be read at all is an error."""
    tell = None if on_progress is None else lambda done: on_progress(done, size_bytes)
    return scan_of(_native.index_file(fd, size_bytes, tell), shard)


def scan_bytes(data: bytes, shard: str) -> Scan:
    """Scans a shard in memory."""
    return scan_of(_native.index_bytes(data), shard)


def scan_of(found: dict[str, Any], shard: str) -> Scan:
    """What the native scan found, with its faults as errors."""
    columns = {name: found[name] for name in IndexTable.__slots__ if name != "fields"}
    table = IndexTable(fields=tuple(text_of(field) for field in found["fields"]), **columns)
    whole = np.ones(table.num_samples, dtype=bool)
    faults = []
    if found["fault"] is not None:
        # Only the next key, or the end blocks, would show that the last sample is complete; and where members of one
        # key lie apart, no sample is known to be.
        whole[slice(None) if found["interleaved"] is not None else slice(-1, None)] = False
        faults.append(ShardFault(error=error_of(found["fault"], table, whole, shard), ends_shard=True))
    whole[found["faulty"]] = False
    for kind, _, name, offset, text in found["content_faults"]:
        key, field = split_name(text_of(name)) or (None, None)
        error = content_error(kind, text=text_of(text), shard=shard, offset=offset, key=key, field=field)
        faults.append(ShardFault(error=error, ends_shard=False))
    return Scan(
        table=table,
        whole=whole,
        faults=tuple(faults),
        num_archives=found["num_archives"],
        num_members=found["num_members"],
        interleaved_key=None if found["interleaved"] is None else table.key(found["interleaved"]),
    )


def error_of(fault: tuple[str, int, int, str], table: IndexTable, whole: Bools, shard: str) -> HeadraceError:
    """The error for the fault that ended a shard."""
    last = int(whole.sum()) - 1
    first_bytes = b""
    if fault[0] == "not_a_tar" and os.path.isfile(shard):
        try:
            first_bytes = read_first_bytes(shard)
        except OSError as error:
            return from_os_error(error, "a shard cannot be read", shard)
    return structure_error(fault, shard=shard, last_key=table.key(last) if last >= 0 else None, first_bytes=first_bytes)
