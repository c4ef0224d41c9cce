"""Finds out what a source of loose files is, and makes its table once for all that share it."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import xxhash

from headrace.datasets.files.from_folder import class_folders, sibling_files
from headrace.datasets.files.from_list import list_file, rows_at_hand
from headrace.datasets.files.table import FileTable
from headrace.datasets.files.wanted import Wanted
from headrace.datasets.shared.block import Block, create_block
from headrace.datasets.shared.packed import Packed
from headrace.datasets.shared.share import Per, share, share_once
from headrace.errors import OptionError
from headrace.sources.recognise import recognise

FileKind: TypeAlias = Literal["auto", "image-folder", "siblings", "list"]
KINDS = ("auto", "image-folder", "siblings", "list")


def open_table(source: Any, kind: FileKind, wanted: Wanted, per: Per) -> FileTable:
    """The table of a source.

    Args:
        source: A folder, a list, or rows at hand.
        kind: What it is, or "auto".
        wanted: Which columns are kept.
        per: Who shares the table.

    Raises:
        SourceError: No such source, nothing in it, or it contradicts itself.
        StorageError: It cannot be read.
        OptionError: It is shards, or options do not fit its kind.
    """
    if kind not in KINDS:
        raise OptionError("kind is not accepted", got=repr(kind), accepted=", ".join(map(repr, KINDS)))
    if per not in get_args(Per):
        raise OptionError("per is not known", got=repr(per), accepted='"auto", "node" or "process"')
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        chosen = recognise(path)[0] if kind == "auto" else kind
        return FileTable(once(path, chosen, wanted, per))
    if not isinstance(source, Iterable) or kind not in ("auto", "list"):
        raise OptionError(
            "the source is no path, and no rows of a list",
            got=f"{type(source).__name__}, kind={kind!r}",
            accepted="a folder, a list, or mappings of column names to values",
        )
    return FileTable(share(rows_at_hand(source, wanted), per))


def once(path: str, kind: str, wanted: Wanted, per: Per) -> Block:
    """The table of a folder or list, made by one rank of the node where several share it.

    Its name holds the time and size of the source: a list that was written anew is another one.
    """

    def pack() -> Packed:
        return read(path, kind, wanted)

    if per == "process":
        return create_block(pack())
    asked = asdict(wanted) | {"fields": None if wanted.fields is None else sorted(wanted.fields)}
    facts = json.dumps([str(Path(path).absolute()), kind, asked, str(Path.cwd()), *written(path)])
    return share_once(f"files {xxhash.xxh3_128_hexdigest(facts.encode('utf-8', 'surrogateescape'))}", pack)


def written(path: str) -> tuple[int, int]:
    """When a source was last written, in nanoseconds, and its size; zeros where it is not there, which others tell."""
    try:
        status = Path(path).stat()
    except OSError:
        return 0, 0
    return status.st_mtime_ns, status.st_size


def read(path: str, kind: str, wanted: Wanted) -> Packed:
    """The table of a source of a known kind."""
    if kind == "list":
        return list_file(path, wanted)
    wanted.refuse_list_options(path)
    root = str(Path(path).absolute())
    if kind == "image-folder":
        return class_folders(root)
    if kind == "siblings":
        return sibling_files(root, wanted)
    raise OptionError(
        "the source is shards, not loose files", got=repr(path), accepted="a folder of files, or a list",
        remedy="Open it with headrace.ShardDataset; kind= says what a folder is that holds both.",
    )  # fmt: skip
