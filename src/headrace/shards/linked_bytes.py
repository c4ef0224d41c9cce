"""The bytes that links of a streamed shard lead to."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from headrace.errors import UnresolvedLinkError
from headrace.shards.faults import content_error, text_of
from headrace.shards.member_stream import StreamFault, StreamMember
from headrace.shards.scan import scan_file


class LinkedBytes:
    """Bytes that links of a shard lead to. The first link has the whole shard scanned, where it is a plain file."""

    def __init__(self, shard: str, fd: int | None) -> None:
        self.shard = shard
        self.fd = fd
        self.places: dict[tuple[str, str], tuple[int, int]] | None = None
        self.broken: set[tuple[str, str]] = set()

    def bytes_of(self, key: str, field: str, member: StreamMember, where: dict[str, Any]) -> bytes:
        """The bytes of a linked field. Raises `UnresolvedLinkError`."""
        if self.fd is None:
            raise UnresolvedLinkError(
                "a link cannot be followed in a stream that cannot go back",
                got=f"target {text_of(member.target)!r}",
                remedy="Unpack the shard, or pack it anew with plain files (`tar --dereference --hard-dereference`)",
                **where,
            )
        places = self.look_up(self.fd)
        if (key, field) in self.broken:
            raise content_error("unresolved", text=text_of(member.target), **where)
        offset, size = places[key, field]
        return b"".join(pieces_of(self.fd, offset, size))

    def look_up(self, fd: int) -> dict[tuple[str, str], tuple[int, int]]:
        """Where the bytes of every field lie."""
        if self.places is None:
            scan = scan_file(fd, os.fstat(fd).st_size, self.shard)
            table = scan.table
            self.places = {
                (table.key(sample), field): (offset, size)
                for sample in range(table.num_samples)
                for field, offset, size in table.members_of(sample)
            }
            unresolved = (fault.error.where for fault in scan.faults if isinstance(fault.error, UnresolvedLinkError))
            self.broken = {(str(where["key"]), str(where["field"])) for where in unresolved}
        return self.places


def pieces_of(fd: int, offset: int, size: int) -> Iterator[bytes]:
    """A range of a file, piece by piece: the system gives at most 2 GiB at once."""
    end = offset + size
    while offset < end:
        piece = os.pread(fd, min(end - offset, 1 << 30), offset)
        if not piece:
            raise StreamFault("truncated", offset, "became shorter while it was read")
        yield piece
        offset += len(piece)
