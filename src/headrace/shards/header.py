"""Header blocks of a tar in Python: what the writer makes, and what the streaming reader takes apart.

Sources: POSIX.1-1988 (ustar) and POSIX.1-2001 (pax) as in the pax(1) page; GNU tar's manual, "Basic Tar Format".
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field
from typing import Final

BLOCK: Final = 512
END_BLOCKS: Final = bytes(2 * BLOCK)

NAME = slice(0, 100)
SIZE = slice(124, 136)
CHECKSUM = slice(148, 156)
TYPE: Final = 156
LINK = slice(157, 257)
MAGIC = slice(257, 263)
PREFIX = slice(345, 500)
LARGEST_USTAR_SIZE: Final = 8**11 - 1
LARGEST_NUMBER: Final = (1 << 63) - 1

# Fixed facts, so that the same input gives the same bytes anywhere: mode 0644, owner and time 0.
BEFORE_SIZE: Final = b"0000644\0" + b"0000000\0" * 2
AFTER_SIZE: Final = b"00000000000\0" + b" " * 8
AFTER_TYPE: Final = bytes(100) + b"ustar\x0000" + bytes(64) + b"0000000\0" * 2
PAX_NAME: Final = b"PaxHeader"


def padded(size: int) -> int:
    """A size rounded up to whole blocks."""
    return -(-size // BLOCK) * BLOCK


def member_header(name: bytes, size: int) -> bytes:
    """The header block of a file: ustar where name and size fit, with a PAX header before it where they do not."""
    parts = split_ustar(name)
    records = b""
    if parts is None:
        records += pax_record(b"path", name)
        parts = (b"", name[:100])
    if size > LARGEST_USTAR_SIZE:
        records += pax_record(b"size", b"%d" % size)
        size = 0
    block = header_block(parts, size, b"0")
    if not records:
        return block
    extended = header_block((b"", PAX_NAME), len(records), b"x")
    return extended + records.ljust(padded(len(records)), b"\0") + block


def split_ustar(name: bytes) -> tuple[bytes, bytes] | None:
    """Prefix and name of a ustar header, or None where the name fits into neither form."""
    if len(name) <= 100:
        return b"", name
    slash = name.rfind(b"/", 0, 156)
    if slash <= 0 or not 0 < len(name) - slash - 1 <= 100:
        return None
    return name[:slash], name[slash + 1 :]


def header_block(parts: tuple[bytes, bytes], size: int, kind: bytes) -> bytes:
    """One header block with its checksum."""
    prefix, name = parts
    block = bytearray(
        name.ljust(100, b"\0") + BEFORE_SIZE + b"%011o\0" % size + AFTER_SIZE + kind + AFTER_TYPE + prefix
    ).ljust(BLOCK, b"\0")
    block[CHECKSUM] = b"%06o\0 " % sum(block)
    return bytes(block)


def pax_record(keyword: bytes, value: bytes) -> bytes:
    """One record of a PAX header; its length counts the digits of the length too."""
    rest = b" " + keyword + b"=" + value + b"\n"
    length = len(rest)
    while length != len(rest) + len(str(length)):
        length = len(rest) + len(str(length))
    return str(length).encode() + rest


@dataclass(slots=True, kw_only=True)
class Extended:
    """What extended headers say about the member after them."""

    path: bytes | None = None
    link_target: bytes | None = None
    size: int | None = None
    long_name: bytes | None = None
    long_target: bytes | None = None
    is_sparse: bool = False
    is_pending: bool = field(default=False)


def checksum_holds(block: bytes) -> bool:
    """Whether the stored checksum is the sum of the bytes, taken as unsigned or (old writers) as signed."""
    stored = parse_number(block[CHECKSUM])
    if stored is None:
        return False
    others = block[:148] + block[156:]
    if stored == sum(others) + 8 * 32:
        return True
    return bool(stored == sum(struct.unpack("504b", others)) + 8 * 32)


def parse_number(field_bytes: bytes) -> int | None:
    """Unsigned number of a header field (octal, or base 256); None where it is malformed, negative or over 63 bits."""
    if field_bytes[0] & 0x80:
        number = int.from_bytes(bytes([field_bytes[0] & 0x3F]) + field_bytes[1:], "big")
        return None if field_bytes[0] & 0x40 or number > LARGEST_NUMBER else number
    digits = field_bytes.lstrip(b" ")
    end = min((at for at in (digits.find(b" "), digits.find(b"\0")) if at >= 0), default=len(digits))
    digits = digits[:end]
    if digits.strip(b"01234567"):
        return None
    return int(digits or b"0", 8)


def until_nul(field_bytes: bytes) -> bytes:
    """A text field of a header."""
    return field_bytes.partition(b"\0")[0]


def header_name(block: bytes) -> bytes:
    """The name in a header block, with its prefix where the header is a ustar one."""
    name = until_nul(block[NAME])
    prefix = until_nul(block[PREFIX]) if block[MAGIC] == b"ustar\0" else b""
    return prefix + b"/" + name if prefix else name


def parse_pax(data: bytes, extended: Extended) -> bool:
    """Takes over the records of a PAX header; False where it is malformed."""
    while data and data[0]:
        digits, blank, _ = data.partition(b" ")
        if not blank or not digits.isdigit() or len(digits) > len(str(LARGEST_NUMBER)):
            return False
        length = int(digits)
        if not len(digits) + 3 <= length <= len(data):
            return False
        record, data = data[len(digits) + 1 : length], data[length:]
        keyword, equals, value = record[:-1].partition(b"=")
        if record[-1:] != b"\n" or not equals or not keyword or not take_record(keyword, value, extended):
            return False
    return True


def take_record(keyword: bytes, value: bytes, extended: Extended) -> bool:
    """One record; an empty value takes an earlier one back, as POSIX says."""
    if keyword in (b"path", b"linkpath"):
        if b"\0" in value:
            return False
        setattr(extended, "path" if keyword == b"path" else "link_target", value or None)
    elif keyword == b"size":
        extended.size = int(value) if value.isdigit() and len(value) < 40 else None
        return not value or (extended.size is not None and extended.size <= LARGEST_NUMBER)
    elif keyword.startswith(b"GNU.sparse."):
        extended.is_sparse = True
    return True
