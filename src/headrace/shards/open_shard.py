"""One open shard: its descriptor and its index."""

from __future__ import annotations

import os
import weakref
from typing import Self

from headrace._base.os_errors import from_os_error
from headrace.contracts import I64, OnError
from headrace.shards.index import ShardIndex
from headrace.shards.table import U32


class OpenShard:
    """A shard that can be read. The descriptor is closed by `close`, or when the object is gone."""

    def __init__(self, fd: int, index: ShardIndex) -> None:
        self.fd = fd
        self.index = index
        self.pointers = index.table.pointers()
        self.numbers: dict[tuple[str, ...], U32] = {}
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

    def field_numbers(self, entry: tuple[str, ...]) -> U32:
        """Numbers of an entry's fields in this shard."""
        numbers = self.numbers.get(entry)
        if numbers is None:
            numbers = self.numbers[entry] = self.index.table.field_numbers(entry)
        return numbers

    def keys(self, samples: I64) -> list[str]:
        """Keys of some samples."""
        return self.index.keys(samples)

    def close(self) -> None:
        """Closes the descriptor. Idempotent."""
        self.finalizer()
