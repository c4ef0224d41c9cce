"""Reading a shard from its beginning to its end, without an index."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from lzma import LZMAError
from typing import IO, Any, TypeAlias

from headrace._base.os_errors import from_os_error
from headrace.contracts import OnError
from headrace.errors import (
    HeadraceError,
    InterleavedSampleError,
    ShardError,
    SourceError,
    StorageError,
)
from headrace.shards.compressed import compression_of, open_compressed
from headrace.shards.faults import ShardFault, content_error, structure_error, text_of
from headrace.shards.linked_bytes import LinkedBytes
from headrace.shards.member_stream import MemberStream, StreamFault, StreamMember
from headrace.shards.names import is_dunder, split_name

Report: TypeAlias = Callable[[ShardFault], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class RawSample:
    """One sample as the shard holds it."""

    key: str
    fields: Mapping[str, bytes]
    """Bytes of each field, in the order of the shard."""


def iterate_shard(
    source: str | os.PathLike[str] | IO[bytes], *, on_error: OnError = "raise", report: Report | None = None
) -> Iterator[RawSample]:
    """The samples of a shard in order.

    Args:
        source: A path, also of a .tar.gz, .tar.bz2, .tar.xz or .tar.zst (which needs the package zstandard), or a
            binary file of plain tar.
        on_error: `"skip"` leaves out a faulty sample and goes on, and ends at a fault of the shard itself; a sample
            that the fault may have cut short is left out too.
        report: Called with each fault passed over.

    Raises:
        SourceError: The shard is missing.
        ShardError: It is not whole and well-formed; whole samples before the fault have been given.
        InterleavedSampleError: The members of one key lie apart: only an index can join them. Whatever `on_error`.
        StorageError: It cannot be read.
    """
    if isinstance(source, str | os.PathLike):
        with opened(os.fspath(source)) as (file, links):
            yield from samples_of(file, os.fspath(source), links, on_error, report)
    else:
        name = str(getattr(source, "name", "<stream>"))
        yield from samples_of(source, name, LinkedBytes(name, None), on_error, report)


@contextlib.contextmanager
def opened(path: str) -> Iterator[tuple[IO[bytes], LinkedBytes]]:
    """The plain bytes of a shard, and where its links can be looked up."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        raise SourceError("a shard is missing", got=path) from None
    except OSError as error:
        raise from_os_error(error, "a shard cannot be opened", path) from error
    with open(fd, "rb") as file:
        kind = compression_of(path)
        if kind is None:
            yield file, LinkedBytes(path, file.fileno())
        else:
            with open_compressed(file, kind) as plain:
                yield plain, LinkedBytes(path, None)


def samples_of(
    file: IO[bytes], shard: str, links: LinkedBytes, on_error: OnError, report: Report | None
) -> Iterator[RawSample]:
    """The samples of an open stream, with its faults raised or reported."""
    stream = MemberStream(file)
    assembly = Assembly(shard=shard, links=links)
    try:
        for member in stream:
            sample = assembly.add(member)
            if sample is not None:
                yield sample
            for fault in assembly.take_faults():
                pass_over(fault, on_error, report)
        sample = assembly.finish()
        if sample is not None:
            yield sample
    except (StreamFault, OSError, EOFError, zlib.error, LZMAError) as error:
        found = error_of(error, shard, stream, assembly.last_key)
        if isinstance(found, StorageError):
            raise found from error
        pass_over(ShardFault(error=found, ends_shard=True), on_error, report, error)


def pass_over(fault: ShardFault, on_error: OnError, report: Report | None, cause: Exception | None = None) -> None:
    """Raises a fault, or reports it."""
    if on_error == "raise":
        raise fault.error from cause
    if report is not None:
        report(fault)


def error_of(error: Exception, shard: str, stream: MemberStream, last_key: str | None) -> HeadraceError:
    """What reading a stream raised, as an error of headrace."""
    if isinstance(error, HeadraceError):
        return error
    if isinstance(error, StreamFault):
        return structure_error(error.fault, shard=shard, last_key=last_key, first_bytes=stream.first_bytes)
    if isinstance(error, EOFError):
        fault = ("truncated", stream.at, 0, "ends inside its compressed stream")
    elif isinstance(error, OSError) and error.errno is not None:
        return from_os_error(error, "a shard cannot be read", shard, offset=stream.at)
    else:
        fault = ("corrupt", stream.at, 0, f"has a damaged compressed stream ({error})")
    return structure_error(fault, shard=shard, last_key=last_key)


class Assembly:
    """Joins members to samples as they come."""

    def __init__(self, *, shard: str, links: LinkedBytes) -> None:
        self.shard = shard
        self.links = links
        self.key: str | None = None
        self.fields: dict[str, bytes] = {}
        self.is_faulty = False
        self.faults: list[ShardFault] = []
        self.seen: set[str] = set()
        self.last_key: str | None = None

    def add(self, member: StreamMember) -> RawSample | None:
        """Takes a member; gives the sample before it when a new key begins."""
        split = split_name(text_of(member.name))
        if split is None or member.kind == "directory":
            return None
        key, field = split
        done = None
        if key != self.key:
            done = self.finish()
            self.begin(key, member)
        if member.kind == "cut":
            self.is_faulty = True
            return done
        try:
            self.add_field(key, field, member)
        except ShardError as error:
            self.is_faulty = True
            self.faults.append(ShardFault(error=error, ends_shard=False))
        return done

    def begin(self, key: str, member: StreamMember) -> None:
        """Begins the sample of a key that must be new."""
        if key in self.seen:
            raise InterleavedSampleError(
                "the members of a key lie apart, and a stream cannot join them",
                remedy="Index it (`headrace index`) and read it through ShardDataset, or `headrace pack` it anew",
                shard=self.shard,
                offset=member.offset,
                key=key,
            )
        self.seen.add(key)
        self.key = key

    def add_field(self, key: str, field: str, member: StreamMember) -> None:
        """Adds a field to the current sample. Raises the `ShardError` of a faulty one."""
        where: dict[str, Any] = {"shard": self.shard, "offset": member.offset, "key": key, "field": field}
        if field in self.fields:
            raise content_error("duplicate", text="has a field twice", **where)
        self.fields[field] = b""
        if is_dunder(field):
            raise content_error("reserved", text="uses a reserved name as a field", **where)
        if member.kind == "other":
            raise content_error("unsupported", text="holds a member that is neither a file nor a link", **where)
        self.fields[field] = member.data if member.kind == "file" else self.links.bytes_of(key, field, member, where)

    def finish(self) -> RawSample | None:
        """The current sample, if there is one without a fault."""
        key, fields, is_faulty = self.key, self.fields, self.is_faulty
        self.key, self.fields, self.is_faulty = None, {}, False
        if key is None or is_faulty:
            return None
        self.last_key = key
        return RawSample(key=key, fields=fields)

    def take_faults(self) -> list[ShardFault]:
        """The faults of single samples found since the last call."""
        faults, self.faults = self.faults, []
        return faults
