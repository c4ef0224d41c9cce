"""The index of one shard: read from its file, or made by scanning."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import xxhash

from headrace._base.atomic import write_atomic
from headrace._base.cache_folder import cache_folder
from headrace._base.locks import file_lock
from headrace._base.os_errors import from_os_error
from headrace.contracts import I64, U64, Bools, OnError
from headrace.errors import HeadraceError, IndexFormatError, ShardChangedError, SourceError, StorageError
from headrace.shards.compressed import compression_of
from headrace.shards.faults import ShardFault
from headrace.shards.index_file import SUFFIX, IndexHead, encode_index, read_index
from headrace.shards.scan import OnProgress, scan_file
from headrace.shards.stamp import is_fresh, stamp_of
from headrace.shards.table import U32, IndexTable

SCAN_DEADLINE_S = 1800.0
"""How long a process waits while another one on the same machine scans the same shard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardIndex:
    """Where every member of a shard lies."""

    path: str
    size_bytes: int
    """Size of the shard."""
    table: IndexTable
    faults: tuple[ShardFault, ...] = ()
    """Faults passed over with `on_error="skip"`; the table holds the whole samples only."""
    md5: str | None = None
    """md5 of the shard, where whoever wrote it left it in the index."""
    num_archives: int = field(default=1)
    headers: str | None = None
    """Hash of some of its header blocks; None of a shard with faults."""

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        on_error: OnError = "raise",
        on_progress: OnProgress | None = None,
        deadline_s: float = SCAN_DEADLINE_S,
    ) -> Self:
        """The index of a shard.

        A fresh index file beside the shard, or in the cache folder, is read. Otherwise the shard is scanned, by one
        process of this machine at a time, and the index is written beside it, or into the cache folder where that
        cannot be done.

        Args:
            path: The shard.
            on_error: `"skip"` keeps the whole samples before a fault and leaves faulty ones out; see `faults`.
            on_progress: Called with (bytes scanned, size of the shard) while scanning.
            deadline_s: How long to wait for another process that scans the same shard.

        Raises:
            SourceError: The shard is missing, or compressed.
            ShardError: It is not whole and well-formed.
            StorageError: It cannot be read, or the deadline has passed.
        """
        shard = os.fspath(path)
        with opened(shard) as fd:
            return cls.from_files(shard, fd) or cls.scan_once(shard, fd, on_error, on_progress, deadline_s)

    @classmethod
    def from_files(cls, shard: str, fd: int) -> Self | None:
        """The index from a file that is valid and fresh, or None."""
        for file in index_paths(shard, os.fstat(fd)):
            with contextlib.suppress(OSError, IndexFormatError):
                table, head = read_index(file)
                if is_fresh(head.stamp, fd, shard, table.offsets):
                    size = head.stamp.size_bytes
                    return cls(
                        path=shard,
                        size_bytes=size,
                        table=table,
                        md5=head.md5,
                        num_archives=head.num_archives,
                        headers=head.stamp.headers,
                    )
        return None

    @classmethod
    def scan_once(
        cls, shard: str, fd: int, on_error: OnError, on_progress: OnProgress | None, deadline_s: float
    ) -> Self:
        """Scans under a lock, unless another process has just done so."""
        with scan_lock(shard, deadline_s):
            return cls.from_files(shard, fd) or cls.scanned(shard, fd, on_error, on_progress)

    @classmethod
    def scanned(cls, shard: str, fd: int, on_error: OnError, on_progress: OnProgress | None = None) -> Self:
        """Scans an open shard and writes its index, unless it has faults."""
        before = os.fstat(fd)
        scan = scan_file(fd, before.st_size, shard, on_progress)
        if scan.faults and (on_error == "raise" or is_about_reading(scan.faults)):
            raise scan.faults[0].error
        table = scan.table.select(scan.whole) if scan.faults else scan.table
        after = os.fstat(fd)
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise ShardChangedError("a shard changed while it was scanned", shard=shard, retryable=True)
        headers = None
        if not scan.faults:
            stamp = stamp_of(fd, shard, table.offsets)
            head = IndexHead(
                stamp=stamp, fields=table.fields, num_samples=table.num_samples, num_archives=scan.num_archives
            )
            headers = stamp.headers
            save_index(shard, before, encode_index(table, head))
        return cls(
            path=shard,
            size_bytes=before.st_size,
            table=table,
            faults=scan.faults,
            num_archives=scan.num_archives,
            headers=headers,
        )

    @property
    def size_in_memory(self) -> int:
        """Bytes of its columns."""
        return self.table.size_bytes

    @property
    def num_samples(self) -> int:
        """Samples of the shard."""
        return self.table.num_samples

    @property
    def fields(self) -> tuple[str, ...]:
        """Names of its fields, in the order of their first use."""
        return self.table.fields

    def key(self, sample: int) -> str:
        """The key of one sample, counted from 0 in this shard."""
        return self.table.key(sample)

    def keys(self, samples: Iterable[int]) -> list[str]:
        """The keys of some samples."""
        return [self.table.key(int(sample)) for sample in samples]

    def locate(self, samples: I64, field_ids: U32) -> tuple[U64, U64, Bools]:
        """Offset and size of a field of each sample, and whether the sample has it; all of shape (samples,).

        Of several `field_ids` (positions in `fields`), the first that the sample has counts.
        """
        offsets, sizes, choices = self.table.locate(samples, field_ids)
        return offsets, sizes, choices >= 0


def is_about_reading(faults: tuple[ShardFault, ...]) -> bool:
    """Whether the shard could not be read at all: such a fault is never passed over."""
    return isinstance(faults[0].error, StorageError)


@contextlib.contextmanager
def opened(shard: str) -> Iterator[int]:
    """A descriptor of a plain shard. Raises `SourceError` or `StorageError` that names it."""
    if compression_of(shard) is not None:
        raise SourceError(
            "a compressed shard has no index",
            got=shard,
            accepted="plain .tar files",
            remedy="Unpack it (`gunzip x.tar.gz`), or read it in sequence with iterate_shard",
        )
    try:
        fd = os.open(shard, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a named pipe would wait for its writer
    except FileNotFoundError:
        raise SourceError("a shard is missing", got=shard) from None
    except OSError as error:
        raise from_os_error(error, "a shard cannot be opened", shard) from error
    try:
        if os.path.isdir(shard):
            raise SourceError("a shard is a folder", got=shard, accepted="a .tar file")
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            raise SourceError("a shard is a pipe or a device", got=shard, accepted="a .tar file")
        yield fd
    finally:
        os.close(fd)


def index_paths(shard: str, facts: os.stat_result) -> Iterator[str]:
    """Where the index of a shard may lie: beside it, or in the cache folder, which is looked for only then."""
    yield shard + SUFFIX
    with contextlib.suppress(HeadraceError):
        yield str(cached_index_path(shard, facts))


def cached_index_path(shard: str, facts: os.stat_result) -> Path:
    """The index's place in the cache folder, named by the shard's path, size and time."""
    name = xxhash.xxh3_128_hexdigest(os.fsencode(f"{os.path.realpath(shard)}\0{facts.st_size}\0{facts.st_mtime_ns}"))
    return cache_folder("indexes") / f"{name}{SUFFIX}"


def save_index(shard: str, facts: os.stat_result, data: bytes) -> None:
    """Writes an index beside the shard, else into the cache folder, else nowhere: it can be made anew."""
    for path in index_paths(shard, facts):
        with contextlib.suppress(StorageError):
            write_atomic(path, data, durable=False)
            return


@contextlib.contextmanager
def scan_lock(shard: str, deadline_s: float) -> Iterator[None]:
    """Held while a shard is scanned; nothing where no lock file can be made."""
    try:
        folder = cache_folder("locks")
    except StorageError:
        yield
        return
    name = xxhash.xxh3_128_hexdigest(os.fsencode(os.path.realpath(shard)))
    with file_lock(folder / f"{name}.lock", timeout_s=deadline_s):
        yield
