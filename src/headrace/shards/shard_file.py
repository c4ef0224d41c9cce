"""One shard being written: every sample whole, and under its name only when all of it is there."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import Self, TypeAlias

import numpy as np

from headrace._base.atomic import AtomicFile, write_atomic
from headrace._base.os_errors import from_os_error
from headrace.errors import HeadraceError, KeyRefusedError, SourceError, WriteError
from headrace.shards.header import BLOCK, END_BLOCKS, member_header, padded
from headrace.shards.index_file import SUFFIX, IndexHead, encode_index
from headrace.shards.md5 import Md5Follower
from headrace.shards.names import check_field, check_key
from headrace.shards.output import FileRange, Output
from headrace.shards.shard_info import ShardInfo
from headrace.shards.stamp import Stamp, headers_hash
from headrace.shards.table import IndexTable, starts_of

FieldBytes: TypeAlias = bytes | bytearray | memoryview | os.PathLike[str] | FileRange
"""Bytes, a path whose file is copied, or a range of an open file."""

PADDING = bytes(BLOCK)


class ShardFile:
    """Writes one shard and, if asked, its index. Leaving the `with` block publishes it; an exception removes it.

    Args:
        path: Where the shard is to appear.
        write_index: Whether to write the index file beside it.
        allow_pickle: Extensions that may be written although reading them can run code.

    Raises:
        StorageError: The shard cannot be written (`DiskFullError` where no space is left).
    """

    def __init__(
        self, path: str | os.PathLike[str], *, write_index: bool = True, allow_pickle: tuple[str, ...] = ()
    ) -> None:
        self.path = os.fspath(path)
        self.write_index = write_index
        self.allow_pickle = allow_pickle
        self.file = AtomicFile(path)
        self.output = Output(self.file.fd)
        self.md5 = Md5Follower(self.file.fd)
        self.keys: dict[str, None] = {}
        self.field_numbers: dict[str, int] = {}
        self.num_members: list[int] = []
        self.offsets: list[int] = []
        self.sizes: list[int] = []
        self.field_ids: list[int] = []
        self.info: ShardInfo | None = None

    @property
    def size_bytes(self) -> int:
        """Size of the shard if it were closed now."""
        return self.output.position + len(END_BLOCKS)

    @property
    def num_samples(self) -> int:
        """Samples written so far."""
        return len(self.keys)

    def add(self, key: str, fields: Mapping[str, FieldBytes]) -> None:
        """Appends one sample, whole or not at all.

        Args:
            key: Its key; must read back as it is, and be new to this shard.
            fields: Lower-case extensions and their bytes, written in this order.

        Raises:
            KeyRefusedError: The key would read back differently, or is in the shard already.
            WriteError: A field's name would read back differently, or there is no field.
            UnsafeFieldError: A field's kind can run code and is not in `allow_pickle`.
            SourceError: A file to be copied is missing or cannot be read.
            StorageError: The shard cannot be written.
        """
        check_key(key)
        if key in self.keys:
            raise KeyRefusedError("a key is used twice in one shard", remedy="Give each sample its own", key=key)
        if not fields:
            raise WriteError("a sample has no fields", key=key)
        for field in fields:
            check_field(field, key, self.allow_pickle)
        start, num_before = self.output.position, len(self.offsets)
        try:
            for field, value in fields.items():
                self.append(key, field, value)
        except BaseException as error:
            self.take_back(start, num_before)
            if isinstance(error, OSError) and not isinstance(error, HeadraceError):
                raise from_os_error(error, "a shard cannot be written", self.path, key=key) from error
            raise
        self.keys[key] = None
        self.num_members.append(len(fields))
        self.md5.advance(self.output.flushed)

    def size_of(self, fields: Mapping[str, FieldBytes]) -> int:
        """Bytes that a sample of these fields takes, extended headers apart."""
        return sum(BLOCK + padded(num_bytes(value)) for value in fields.values())

    def append(self, key: str, field: str, value: FieldBytes) -> None:
        """Appends one member: header, data, padding."""
        if isinstance(value, FileRange):
            size = value.size
            self.begin_member(key, field, size)
            self.output.copy(value)
        elif isinstance(value, os.PathLike):
            size = self.append_path(key, field, value)
        else:
            view = memoryview(value).cast("B")
            size = len(view)
            self.begin_member(key, field, size)
            self.output.write(view)
        self.output.write(PADDING[: padded(size) - size])

    def append_path(self, key: str, field: str, path: os.PathLike[str]) -> int:
        """Header and data of a file; gives its size."""
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise SourceError(
                "a file to be packed cannot be opened", got=f"{os.fspath(path)}: {error.strerror}", key=key, field=field
            ) from error
        try:
            size = os.fstat(fd).st_size
            self.begin_member(key, field, size)
            self.output.copy(FileRange(fd=fd, size=size))
        except IsADirectoryError:
            raise SourceError("a file to be packed is a folder", got=os.fspath(path), key=key, field=field) from None
        finally:
            os.close(fd)
        return size

    def begin_member(self, key: str, field: str, size: int) -> None:
        """Writes a header and notes where the data begins."""
        self.output.write(member_header(f"{key}.{field}".encode(), size))
        self.offsets.append(self.output.position)
        self.sizes.append(size)
        self.field_ids.append(self.field_numbers.setdefault(field, len(self.field_numbers)))

    def take_back(self, position: int, num_members: int) -> None:
        """Forgets the members of a sample that failed."""
        self.output.rewind(position)
        del self.offsets[num_members:], self.sizes[num_members:], self.field_ids[num_members:]

    def commit(self) -> ShardInfo:
        """Writes the end blocks and the index, flushes, and publishes the shard."""
        try:
            self.output.write(END_BLOCKS)
            self.output.flush()
            size = self.output.position
            digest = self.md5.finish(size)
            table = self.table()
            headers = headers_hash(self.file.fd, self.path, size, table.offsets)
            index = encoded_index(table, size, headers, digest) if self.write_index else None
        except OSError as error:
            self.discard()
            raise from_os_error(error, "a shard cannot be written", self.path) from error
        except BaseException:
            self.discard()
            raise
        self.file.commit()
        if index is not None:
            write_atomic(self.path + SUFFIX, index)
        name = os.path.basename(self.path)
        self.info = ShardInfo(
            url=self.path, name=name, num_samples=self.num_samples, size_bytes=size, md5=digest, headers=headers
        )
        return self.info

    def discard(self) -> None:
        """Removes what was written. Idempotent; does nothing after `commit`."""
        self.md5.abandon()
        self.file.discard()

    def table(self) -> IndexTable:
        """Where the members of the finished shard lie."""
        keys = [key.encode() for key in self.keys]
        return IndexTable(
            sample_starts=starts_of(np.array(self.num_members, dtype=np.int64)).astype(np.uint32),
            offsets=np.array(self.offsets, dtype=np.uint64),
            sizes=np.array(self.sizes, dtype=np.uint64),
            field_ids=np.array(self.field_ids, dtype=np.uint32),
            keys=np.frombuffer(b"".join(keys), dtype=np.uint8),
            key_starts=starts_of(np.array([len(key) for key in keys], dtype=np.int64)).astype(np.uint64),
            fields=tuple(self.field_numbers),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.commit()
        else:
            self.discard()


def encoded_index(table: IndexTable, size: int, headers: str, digest: str) -> bytes:
    """The index of a finished shard; no time or place in it, so that the same input gives the same bytes."""
    stamp = Stamp(size_bytes=size, headers=headers)
    return encode_index(table, IndexHead(stamp=stamp, fields=table.fields, num_samples=table.num_samples, md5=digest))


def num_bytes(value: FieldBytes) -> int:
    """Size of a field's data; 0 for a file that is not there (writing it says so)."""
    if isinstance(value, FileRange):
        return value.size
    if isinstance(value, os.PathLike):
        return os.stat(value).st_size if os.path.exists(value) else 0
    return memoryview(value).nbytes
