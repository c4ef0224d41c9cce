"""Compressed shards as streams of plain bytes; checksums are verified by the decompressors."""

from __future__ import annotations

import bz2
import gzip
import importlib
import io
import lzma
import os
from typing import IO, Any, Literal, cast

from headrace.errors import SourceError

Compression = Literal["gz", "bz2", "xz", "zst"]

PIECE_BYTES = 1 << 11
"""Compressed bytes of zstd at a time: 2 KiB can hold 64 MiB, and no more than that is in memory."""

SUFFIXES: dict[str, Compression] = {
    ".tar.gz": "gz",
    ".tgz": "gz",
    ".tar.bz2": "bz2",
    ".tbz2": "bz2",
    ".tar.xz": "xz",
    ".txz": "xz",
    ".tar.zst": "zst",
    ".tzst": "zst",
}


def compression_of(name: str | os.PathLike[str]) -> Compression | None:
    """How a shard of this name is compressed, or None."""
    lowered = os.fspath(name).lower()
    return next((kind for suffix, kind in SUFFIXES.items() if lowered.endswith(suffix)), None)


def open_compressed(file: IO[bytes], kind: Compression) -> IO[bytes]:
    """The plain bytes of a compressed stream."""
    if kind == "gz":
        return cast("IO[bytes]", gzip.GzipFile(fileobj=file, mode="rb"))
    if kind == "bz2":
        return cast("IO[bytes]", bz2.BZ2File(file))
    if kind == "xz":
        return cast("IO[bytes]", lzma.LZMAFile(file))
    return cast("IO[bytes]", ZstdReader(file))


class ZstdReader(io.RawIOBase):
    """The plain bytes of zstd frames, one after another. A frame that is cut short is an EOFError."""

    def __init__(self, file: IO[bytes]) -> None:
        try:
            self.zstandard: Any = importlib.import_module("zstandard")
        except ImportError:
            raise SourceError(
                "a zstd shard needs the package zstandard, which is not installed",
                remedy="Run `pip install zstandard`, or unpack the shard (`unzstd x.tar.zst`)",
            ) from None
        self.file = file
        self.frame: Any = None
        self.rest = b""
        self.plain = io.BytesIO()

    def readable(self) -> bool:
        """Always."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes; none at the end of the last frame."""
        while not (data := self.plain.read(size)) and self.unpack_more():
            pass
        return data

    def unpack_more(self) -> bool:
        """Feeds one piece to the decompressor. False at the end of the file."""
        piece = self.rest or self.file.read(PIECE_BYTES)
        self.rest = b""
        if not piece:
            if self.frame is not None:
                raise EOFError("a zstd frame is cut short")
            return False
        if self.frame is None:
            self.frame = self.zstandard.ZstdDecompressor().decompressobj()
        try:
            self.plain = io.BytesIO(self.frame.decompress(piece))
        except self.zstandard.ZstdError as error:
            raise OSError(str(error)) from error
        if self.frame.eof:
            self.rest, self.frame = self.frame.unused_data, None
        return True
