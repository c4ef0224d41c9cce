"""What the native scan reports, as errors; and what a reader that goes on past a fault keeps a record of."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from headrace._base.os_errors import storage_error
from headrace.errors import (
    CorruptShardError,
    DuplicateFieldError,
    HeadraceError,
    NotATarError,
    ShardError,
    TruncatedShardError,
    UnresolvedLinkError,
    UnsupportedMemberError,
)

NUM_FIRST_BYTES = 32

REPLACE = "Copy or download the shard again; on_error='skip' keeps the whole samples before the fault"
STRUCTURE: dict[str, tuple[type[ShardError], str]] = {
    "not_a_tar": (NotATarError, "See what was saved under this name (a web page? a compressed file?)"),
    "truncated": (TruncatedShardError, REPLACE),
    "corrupt": (CorruptShardError, REPLACE),
    "unsupported": (UnsupportedMemberError, "Pack the files anew, without --sparse and without devices"),
}
CONTENT: dict[str, tuple[type[ShardError], str]] = {
    "duplicate": (DuplicateFieldError, "Rename one of the two members (case is ignored in field names)"),
    "reserved": (DuplicateFieldError, "Rename the member: fields like __key__ are headrace's own"),
    "unresolved": (UnresolvedLinkError, "Pack the shard anew with the linked files in it (`tar --dereference`)"),
    "unsupported": (UnsupportedMemberError, "Pack the shard anew with plain files only"),
}

COMPRESSED = {b"\x1f\x8b": "gz", b"BZh": "bz2", b"\xfd7zXZ\x00": "xz", b"\x28\xb5\x2f\xfd": "zst"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFault:
    """A fault that was passed over with `on_error="skip"`."""

    error: HeadraceError
    """What is wrong, with shard, offset and key."""
    ends_shard: bool
    """True where nothing after the fault could be read, False where one sample alone was left out."""


def text_of(name: bytes) -> str:
    """A name of a shard as text; bytes that are no UTF-8 survive as surrogates, as Python treats file names."""
    return name.decode("utf-8", "surrogateescape")


def sentence(text: str) -> str:
    """A text of the scan as a sentence about the shard: some begin with their verb, some with what is faulty."""
    return f"the shard is not sound: {text}" if text.startswith(("a ", "an ")) else f"the shard {text}"


def structure_error(
    fault: tuple[str, int, int, str], *, shard: str, last_key: str | None, first_bytes: bytes = b""
) -> HeadraceError:
    """The error for a fault of the shard as a whole: (kind, offset, errno, text)."""
    kind, offset, number, text = fault
    if kind == "read_error":
        return storage_error(number, "a shard cannot be read", shard, offset=offset)
    error, remedy = STRUCTURE[kind]
    got = None
    if error is NotATarError and first_bytes:
        got = f"first bytes {first_bytes[:NUM_FIRST_BYTES]!r}"
        suffix = next((suffix for magic, suffix in COMPRESSED.items() if first_bytes.startswith(magic)), None)
        if suffix is not None:
            remedy = f"The file is compressed: name it .tar.{suffix}, or unpack it"
    return error(sentence(text), got=got, remedy=remedy, shard=shard, offset=offset, last_key=last_key)


def content_error(kind: str, *, text: str, shard: str, **where: Any) -> ShardError:
    """The error for a fault of one sample in a shard whose headers are sound."""
    error, remedy = CONTENT[kind]
    if kind == "unresolved":
        return error(
            "a link does not lead to a file of the same shard",
            got=f"target {text!r}",
            remedy=remedy,
            shard=shard,
            **where,
        )
    return error(sentence(text), remedy=remedy, shard=shard, **where)


def read_first_bytes(path: str | os.PathLike[str]) -> bytes:
    """The first bytes of a file, to show what it is instead of a tar."""
    with open(path, "rb") as file:
        return file.read(NUM_FIRST_BYTES)
