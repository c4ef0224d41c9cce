"""Tars made by Python's tarfile, for tests."""

from __future__ import annotations

import tarfile
from collections.abc import Iterable
from pathlib import Path

END = bytes(1024)


def member(name: str, data: bytes = b"", *, form: int = tarfile.USTAR_FORMAT, **facts: object) -> bytes:
    """One member: header, data, padding. `facts` are attributes of TarInfo."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for fact, value in facts.items():
        setattr(info, fact, value)
    return info.tobuf(form, "utf-8", "surrogateescape") + data + bytes(-len(data) % 512)


def tar_of(members: Iterable[tuple[str, bytes]], **facts: object) -> bytes:
    """A whole tar, without padding to a record."""
    return b"".join(member(name, data, **facts) for name, data in members) + END


def pairs(num: int, fields: tuple[str, ...] = ("jpg", "txt")) -> list[tuple[str, bytes]]:
    """Members `0000.jpg 0000.txt 0001.jpg ...`, each with data of its own."""
    return [(f"{i:04d}.{field}", f"{i} {field}".encode() * 3) for i in range(num) for field in fields]


def contents(path: Path) -> list[tuple[str, bytes]]:
    """Names and data of a tar, as tarfile reads them."""
    with tarfile.open(path) as tar:
        return [(info.name, tar.extractfile(info).read()) for info in tar if info.isreg()]  # type: ignore[union-attr]
