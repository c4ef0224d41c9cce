"""The members of a tar that comes as a stream, every rule checked on the way.

The streaming counterpart of `native/tar/scan.cpp`; a property test holds the two equal on sound and damaged shards.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, Literal

from headrace.shards.header import (
    BLOCK,
    LINK,
    SIZE,
    TYPE,
    Extended,
    checksum_holds,
    header_name,
    padded,
    parse_number,
    parse_pax,
    until_nul,
)

LARGEST_NAME = 64 * 1024
LARGEST_EXTENSION = 1 << 20
PIECE_BYTES = 1 << 20
ZERO_BLOCK = bytes(BLOCK)

MemberKind = Literal["file", "hard_link", "symbolic_link", "directory", "other", "cut"]
"""`cut`: the last member of a stream that ends inside its data; its name shows where the sample before it ended."""
KINDS: dict[bytes, MemberKind] = {
    b"0": "file",
    b"\0": "file",
    b"7": "file",
    b"1": "hard_link",
    b"2": "symbolic_link",
    b"5": "directory",
    b"D": "directory",
    b"V": "directory",
}
WITHOUT_DATA = frozenset({b"1", b"2", b"3", b"4", b"5", b"6"})
REFUSED = frozenset({b"M", b"N"})


class StreamFault(Exception):  # noqa: N818 - what it says is a fault, not a mistake of the program
    """A fault of the stream: kind, offset and text as the native scan reports them."""

    def __init__(self, kind: str, offset: int, text: str) -> None:
        super().__init__(text)
        self.fault = (kind, offset, 0, text)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamMember:
    """One member with its data."""

    name: bytes
    kind: MemberKind
    offset: int
    """First byte of the data, in the plain (not compressed) stream."""
    data: bytes
    target: bytes
    """What a link names."""


@dataclass(slots=True)
class MemberStream:
    """Reads members in order. `first_bytes` and `num_archives` say afterwards what was found."""

    file: IO[bytes]
    at: int = 0
    first_bytes: bytes = b""
    num_archives: int = 0
    extended: Extended = field(default_factory=Extended)

    def __iter__(self) -> Iterator[StreamMember]:
        """The members. Raises `StreamFault`, and whatever reading the file raises."""
        block: bytes | None = self.first_block()
        while block is not None:
            if block == ZERO_BLOCK:
                block = self.after_end()
                continue
            member = self.member(block)
            if member is not None:
                yield member
                if member.kind == "cut":
                    raise StreamFault("truncated", self.at, "ends inside the data or padding of a member")
            block = self.next_header()

    def first_block(self) -> bytes:
        """The first header, or the fault that tells why this is no tar."""
        block = self.first_bytes = self.read(BLOCK)
        if not block:
            raise StreamFault("not_a_tar", 0, "is empty (0 bytes)")
        if len(block) < BLOCK:
            if block[257:262] == b"ustar" or not block.strip(b"\0"):
                raise StreamFault("truncated", 0, "ends inside its first header")
            raise StreamFault("not_a_tar", 0, "is not a tar")
        if block != ZERO_BLOCK and not checksum_holds(block):
            raise StreamFault("not_a_tar", 0, "is not a tar")
        self.num_archives = 1
        return block

    def next_header(self) -> bytes:
        """The next block where a header or an end block must be."""
        block = self.read(BLOCK)
        if not block:
            raise StreamFault("truncated", self.at, "ends without its end-of-archive blocks")
        if len(block) < BLOCK:
            raise StreamFault("truncated", self.at, "ends inside a header")
        return block

    def member(self, block: bytes) -> StreamMember | None:
        """What a header describes: a member, or None after an extended header."""
        if not checksum_holds(block):
            raise StreamFault("corrupt", self.at, "a header's checksum is wrong")
        kind = block[TYPE : TYPE + 1]
        if kind in b"xXgLK":
            self.take_extension(block, kind)
            return None
        member = self.whole_member(block, kind)
        self.extended = Extended()
        return member

    def take_extension(self, block: bytes, kind: bytes) -> None:
        """Takes over an extended header: PAX, PAX for the whole archive, or a GNU long name."""
        header_at = self.at
        data = self.extension_data(block, LARGEST_NAME if kind in b"LK" else LARGEST_EXTENSION)
        if kind == b"L":
            self.extended.long_name = until_nul(data)
        elif kind == b"K":
            self.extended.long_target = until_nul(data)
        else:
            target = Extended() if kind == b"g" else self.extended
            if not parse_pax(data, target):
                raise StreamFault("corrupt", header_at, "a PAX header is malformed")
            if kind == b"g":
                check_global(target, header_at)
                return
        self.extended.is_pending = True

    def extension_data(self, block: bytes, largest: int) -> bytes:
        """The data of an extended header."""
        size = parse_number(block[SIZE])
        if size is None or size > largest:
            raise StreamFault("corrupt", self.at, "an extended header has a size that is malformed or too large")
        data = self.read(padded(size))
        if len(data) < padded(size):
            raise StreamFault("truncated", self.at, "ends inside an extended header")
        self.at += BLOCK + padded(size)
        return data[:size]

    def whole_member(self, block: bytes, kind: bytes) -> StreamMember:
        """A member with all of its data."""
        extended = self.extended
        if kind == b"S" or extended.is_sparse:
            raise StreamFault("unsupported", self.at, "holds a sparse member")
        if kind in REFUSED:
            raise StreamFault("unsupported", self.at, f"holds a member of type '{kind.decode()}'")
        size = parse_number(block[SIZE]) if extended.size is None else extended.size
        if size is None:
            raise StreamFault("corrupt", self.at, "a member has a size that is malformed or negative")
        size = 0 if kind in WITHOUT_DATA else size
        data = self.read(padded(size))
        is_cut = len(data) < padded(size)
        name = extended.path or extended.long_name
        if name is None:
            name = header_name(block)
        target = extended.link_target or extended.long_target
        member = StreamMember(
            name=name,
            kind="cut" if is_cut else member_kind(kind, name),
            offset=self.at + BLOCK,
            data=data[:size],
            target=until_nul(block[LINK]) if target is None else target,
        )
        if not is_cut:
            self.at += BLOCK + padded(size)
        return member

    def after_end(self) -> bytes | None:
        """At a block of zeros: a second one must follow, then only zeros or another archive, whose header is given."""
        if self.extended.is_pending:
            raise StreamFault("corrupt", self.at, "an extended header is followed by no member")
        second = self.read(BLOCK)
        if len(second) < BLOCK:
            raise StreamFault("truncated", self.at, "ends after one of its two end-of-archive blocks")
        if second != ZERO_BLOCK:
            raise StreamFault("corrupt", self.at, "a lone block of zeros lies between members")
        self.at += 2 * BLOCK
        while block := self.read(BLOCK):
            if block.strip(b"\0"):
                if len(block) < BLOCK or not checksum_holds(block):
                    raise StreamFault(
                        "corrupt", self.at, "has bytes after its end-of-archive blocks that are no archive"
                    )
                self.num_archives += 1
                return block
            self.at += len(block)
        return None

    def read(self, size: int) -> bytes:
        """`size` bytes, or fewer at the end; memory grows with what is there, not with what a header claims."""
        if size <= PIECE_BYTES:
            data = self.file.read(size)
            if len(data) == size or not data:
                return data
        else:
            data = b""
        pieces = [data]
        missing = size - len(data)
        while missing:
            piece = self.file.read(min(missing, PIECE_BYTES))
            if not piece:
                break
            pieces.append(piece)
            missing -= len(piece)
        return b"".join(pieces)


def member_kind(kind: bytes, name: bytes) -> MemberKind:
    """What a type flag means; old tars mark a folder by a slash at the end of its name."""
    known = KINDS.get(kind, "other")
    return "directory" if known == "file" and name.endswith(b"/") else known


def check_global(records: Extended, offset: int) -> None:
    """Comments for a whole archive are fine; one name or size for all members is an attack or a mistake."""
    if records.is_sparse or (records.path, records.link_target, records.size) != (None, None, None):
        raise StreamFault("unsupported", offset, "a global PAX header sets a name or size for every member")
