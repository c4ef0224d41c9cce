"""Tables of lists: each row a sample, some of its columns paths of files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

from headrace.datasets.files.builder import TableBuilder
from headrace.datasets.files.wanted import Wanted, absolute
from headrace.datasets.shared.packed import Packed
from headrace.errors import SourceError
from headrace.sources.columns import ListOptions, find_columns
from headrace.sources.labels import LabelNumbers
from headrace.sources.names import split_path
from headrace.sources.rows import Chunk, in_chunks, read_chunks

LABEL_REMEDY = "labels='' takes the column as it is; labels=NAME names another one."
ROWS = "the rows"


def list_file(path: str, wanted: Wanted) -> Packed:
    """A CSV, TSV, JSONL or Parquet list. Paths are relative to its folder, unless `root` says otherwise.

    Raises:
        SourceError: A line that is not of the format, no rows, or columns that are not there; names file and line.
        StorageError: It cannot be read.
    """
    if not Path(path).is_file():
        raise SourceError("the list is no file", path=path, accepted="a CSV, TSV, JSONL or Parquet file")
    root = absolute(wanted.root, str(Path(path).absolute().parent))
    return ListReader(wanted, root, path).read(read_chunks(path))


def rows_at_hand(rows: Iterable[Any], wanted: Wanted) -> Packed:
    """Rows as mappings of column names to values. Paths are relative to the working directory without `root`.

    Raises:
        SourceError: As above, with the number of the row as its line.
    """
    return ListReader(wanted, absolute(wanted.root, "."), None).read(in_chunks(rows, ROWS))


class ListReader:
    """Reads one list, a chunk at a time.

    Args:
        wanted: The columns that are kept.
        root: Absolute path of the folder that paths are relative to.
        path: The list, for errors; None: rows at hand.
    """

    def __init__(self, wanted: Wanted, root: str, path: str | None) -> None:
        self.wanted = wanted
        self.root = root
        self.path = path
        self.builder = TableBuilder()

    def read(self, chunks: Iterator[Chunk]) -> Packed:
        """The whole list as a table."""
        first = next(chunks, None)
        if first is None or not first.lines:
            raise SourceError("the list has no rows", path=self.path)
        paths, label = self.find_columns(list(first.columns))
        numbers = LabelNumbers(label, self.path, LABEL_REMEDY) if label is not None else None
        names: dict[str, None] = {}
        for chunk in chain([first], chunks):
            names |= dict.fromkeys(chunk.columns)
            self.add(chunk, paths, label)
            if numbers is not None:
                numbers.add(chunk.columns.get(numbers.column, [None] * len(chunk.lines)), chunk.lines)
        classes = None
        if numbers is not None:
            labels, classes = numbers.finish()
            self.builder.set_labels(numbers.column, labels)
        return self.builder.finish(list(names), kind="list", root=self.root, classes=classes, may_lack=True)

    def find_columns(self, names: list[str]) -> tuple[tuple[str, ...], str | None]:
        """The columns that hold paths, and the one that holds labels."""
        asked = self.wanted.paths
        options = ListOptions(path_column=asked[0] if asked else None, label_column=self.wanted.labels)
        columns = find_columns(names, options, self.path or ROWS)
        for name in asked or ():
            if name not in names:
                raise SourceError("the list has no such column", got=name, accepted=", ".join(names), path=self.path)
        return asked or (columns.path,), columns.label

    def add(self, chunk: Chunk, paths: Sequence[str], label: str | None) -> None:
        """Takes the rows of a chunk."""
        num = len(chunk.lines)
        for name in paths:
            split = split_paths(chunk.columns.get(name, [None] * num), self.root)
            if split is None:
                rows = zip(chunk.columns.get(name, [None] * num), chunk.lines, strict=True)
                split = [self.split(value, line, name, needed=name == paths[0]) for value, line in rows]
            self.builder.add_stems(name, [stem for stem, _ in split])
            self.builder.add_files(name, name, [end for _, end in split])
        for name, values in chunk.columns.items():
            if name not in paths and name != label and name in self.wanted:
                self.builder.add_values(name, values)
        self.builder.end_piece(num)

    def split(self, value: Any, line: int, column: str, *, needed: bool) -> tuple[str, str | None]:
        """The path of a row as (stem, suffix): relative to the root where it lies below it.

        Raises:
            SourceError: No path, or none that can be a file of this machine.
        """
        path = os.fspath(value) if isinstance(value, os.PathLike) else value
        if path is None or path == "":
            if needed:
                raise self.wrong("a row without a path", value, line, column)
            return "", None
        if not isinstance(path, str) or "\0" in path:
            raise self.wrong("not a path", value, line, column)
        if not has_utf8(path):
            raise self.wrong("not a path in UTF-8", value, line, column)
        if "://" in path:
            raise self.wrong("a list of files that are not on this machine", value, line, column)
        return split_path(path.removeprefix(folder_prefix(self.root)).removeprefix("./"))

    def wrong(self, what: str, value: Any, line: int, column: str) -> SourceError:
        """The error of one row."""
        return SourceError(
            what, got=repr(value)[:200], accepted="a path relative to the root, or an absolute one",
            path=self.path, line=line, column=column,
            remedy="Mend the row; paths=NAME names another column.",
        )  # fmt: skip


def has_utf8(text: str) -> bool:
    """Whether UTF-8 can write a text: halves of surrogate pairs, which JSON can escape, it cannot."""
    try:
        return text.isascii() or bool(text.encode())
    except UnicodeEncodeError:
        return False


def folder_prefix(root: str) -> str:
    """What the absolute paths of all that lies in a folder begin with."""
    return root.rstrip("/") + "/"


def split_paths(values: Sequence[Any], root: str) -> list[tuple[str, str | None]] | None:
    """What `ListReader.split` makes of these rows, looked at together; None where one of them needs a closer look."""
    if not set(map(type, values)) <= {str} or "" in values:
        return None
    together = "\n".join(values)
    if "\0" in together or "://" in together or not has_utf8(together):
        return None
    if together.startswith(("/", "./")) or "\n/" in together or "\n./" in together:
        prefix = folder_prefix(root)
        values = [value.removeprefix(prefix).removeprefix("./") for value in values]
    return list(map(split_path, values))
