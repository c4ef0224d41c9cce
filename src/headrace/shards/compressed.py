"""Compressed shards as streams of plain bytes; checksums are verified by the decompressors."""

from __future__ import annotations

import bz2
import gzip
import importlib
import lzma
import os
from typing import IO, Literal, cast

from headrace.errors import SourceError

Compression = Literal["gz", "bz2", "xz", "zst"]

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
    try:
        zstandard = importlib.import_module("zstandard")
    except ImportError:
        raise SourceError(
            "a zstd shard needs the package zstandard, which is not installed",
            remedy="Run `pip install zstandard`, or unpack the shard (`unzstd x.tar.zst`)",
        ) from None
    return cast("IO[bytes]", zstandard.ZstdDecompressor().stream_reader(file, read_across_frames=True))
