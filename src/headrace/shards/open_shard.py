"""One open shard: its descriptor and its index."""

from __future__ import annotations

import os
import weakref
from typing import Self, TypeAlias

from headrace import _native
from headrace._base.os_errors import from_os_error
from headrace.contracts import I64, OnError
from headrace.errors import HeadraceError
from headrace.shards.index import ShardIndex
from headrace.shards.stamp import headers_hash

Entry: TypeAlias = tuple[str, ...]
"""Field names of one entry, in order of preference (`("jpg", "jpeg", "png")`)."""


class OpenShard:
    """A shard that can be read. The descriptor is closed by `close`, or when the object is gone."""

    def __init__(self, fd: int, index: ShardIndex) -> None:
        self.fd = fd
        self.index = index
        self.facts = changing_facts(fd)
        self.known: dict[tuple[Entry, ...], _native.ShardFields] = {}
        self.finalizer = weakref.finalize(self, os.close, fd)

    @classmethod
    def open(cls, path: str, *, on_error: OnError) -> Self:
        """Opens a shard with its index. Raises what `ShardIndex.open` raises, and `StorageError`."""
        index = ShardIndex.open(path, on_error=on_error)
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise from_os_error(error, "a shard cannot be opened", path) from error
        return cls(fd, index)

    def fields(self, entries: tuple[Entry, ...]) -> _native.ShardFields:
        """The fields of these entries, as `_native.locate_rows` takes them."""
        known = self.known.get(entries)
        if known is None:
            table = self.index.table
            known = self.known[entries] = _native.ShardFields(
                self.fd,
                table.sample_starts,
                table.offsets,
                table.sizes,
                table.field_ids,
                [table.field_numbers(entry) for entry in entries],
            )
        return known

    def keys(self, samples: I64) -> list[str]:
        """Keys of some samples."""
        return self.index.keys(samples)

    def has_changed(self) -> bool:
        """Whether somebody has written to the shard, or cut it, since it was opened.

        Another time alone says nothing: scratch file systems are kept by touching files. Then headers are compared.
        """
        facts = changing_facts(self.fd)
        if facts == self.facts:
            return False
        known = self.index.headers
        if facts[0] != self.facts[0] or known is None:
            return True
        try:
            return headers_hash(self.fd, self.index.path, facts[0], self.index.table.offsets) != known
        except HeadraceError:
            return True

    def close(self) -> None:
        """Closes the descriptor. Idempotent."""
        self.finalizer()


def changing_facts(fd: int) -> tuple[int, int]:
    """Size and time of the last change of an open file. Another file in its place leaves the open one as it is."""
    facts = os.fstat(fd)
    return facts.st_size, facts.st_mtime_ns
