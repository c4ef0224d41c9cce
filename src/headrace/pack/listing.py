"""A list of files with their labels: CSV, TSV, JSON lines or Parquet."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from headrace.errors import SourceError
from headrace.pack.catalog import CatalogBuilder
from headrace.pack.keys import refuse_dots, refuse_repeats
from headrace.pack.options import PackOptions
from headrace.pack.rows import Row, read_rows
from headrace.pack.source import Scan
from headrace.sources.columns import Columns, find_columns
from headrace.sources.folders import FileEntry
from headrace.sources.kinds import SourceKind
from headrace.sources.labels import LabelNumbers
from headrace.sources.names import join, shown, split_last

LABEL_REMEDY = "--label-column '' leaves the column to the json field."
NUM_BETWEEN_CALLS = 10_000


class ListSource:
    """Each row is a sample: the file under its own extension, the label as `cls`, other columns as `json`."""

    kind: SourceKind = "list"

    def scan(self, path: str, options: PackOptions, on_found: Callable[[int], None]) -> Scan:
        """Reads the list and looks at every file that it names."""
        if not Path(path).is_file():
            raise SourceError("the list is no file", path=path, accepted="a CSV, TSV, JSONL or Parquet file")
        column_names, rows = read_rows(path)
        if not rows:
            raise SourceError("the list has no rows", path=path)
        columns = find_columns(column_names, options.list_options, path)
        base = Path(path).absolute().parent
        given = paths_of(rows, columns.path, path)
        files = look_at(rows, [str(base / name) for name in given], path, on_found)
        labels, class_names = number_labels(rows, columns.label, path) if columns.label else (None, None)
        builder = CatalogBuilder(str(base))
        rows_and_files = zip(rows, given, names_of(given, str(base)), files, strict=True)
        for position, (row, place, name, file) in enumerate(rows_and_files):
            key, extension = key_of(row, name, columns, options, path)
            builder.add_file(extension, place, file.size_bytes, file.mtime_ns)
            if labels is not None:
                builder.add_bytes("cls", str(labels[position]).encode())
            add_columns(builder, row, columns)
            builder.end_sample(key)
        if options.dots == "refuse":
            refuse_dots(builder.keys)
        refuse_repeats(builder.keys, "A file may come once; otherwise give each row a key: --key-column NAME.")
        return Scan(catalog=builder.build(), class_names=class_names, notes=(meaning(columns),))


def paths_of(rows: Sequence[Row], column: str, path: str) -> list[str]:
    """The path of each row as the list has it."""
    for row in rows:
        value = row.values.get(column)
        if not isinstance(value, str) or not value:
            raise SourceError("a row without a path", got=repr(value), path=path, line=row.line, column=column)
    return [row.values[column] for row in rows]


def names_of(given: Sequence[str], base: str) -> list[str]:
    """What each path is called: relative to the list's folder, or to what holds all files where some lie elsewhere."""
    absolute = [os.path.normpath(os.path.join(base, name)) for name in given]  # noqa: PTH118 - paths are text here
    root = base
    if not all(name.startswith(base.rstrip("/") + "/") for name in absolute):
        root = os.path.commonpath([Path(name).parent for name in absolute])
    return [os.path.relpath(name, root) for name in absolute]


def look_at(rows: Sequence[Row], paths: Sequence[str], path: str, on_found: Callable[[int], None]) -> list[FileEntry]:
    """Size and time of each file; files that are missing are counted, the first few named with their lines."""
    found: list[FileEntry] = []
    missing: list[tuple[int, str, str]] = []
    for row, name in zip(rows, paths, strict=True):
        try:
            status = Path(name).stat()
        except (OSError, ValueError) as error:
            missing.append((row.line, name, str(getattr(error, "strerror", error))))
            continue
        if not stat.S_ISREG(status.st_mode):
            missing.append((row.line, name, "not a file"))
            continue
        found.append(FileEntry(name=name, size_bytes=status.st_size, mtime_ns=status.st_mtime_ns))
        if len(found) % NUM_BETWEEN_CALLS == 0:
            on_found(len(found))
    if missing:
        line, name, reason = missing[0]
        raise SourceError(
            f"{len(missing)} of {len(rows)} files of the list cannot be opened; the first: {name}: {reason}",
            got=shown(name for _, name, _ in missing),
            path=path,
            line=line,
            remedy="Paths are relative to the folder of the list, or absolute.",
        )
    on_found(len(found))
    return found


def number_labels(rows: Sequence[Row], column: str, path: str) -> tuple[list[int], tuple[str, ...] | None]:
    """Class numbers of the rows, and the class names where the column holds names."""
    numbers = LabelNumbers(column, path, LABEL_REMEDY)
    numbers.add([row.values.get(column) for row in rows], [row.line for row in rows])
    labels, class_names = numbers.finish()
    return labels.tolist(), class_names


def key_of(row: Row, name: str, columns: Columns, options: PackOptions, path: str) -> tuple[str, str]:
    """(key, extension) of a row."""
    folder, _, base = name.rpartition("/")
    parts = split_last(base, options.dots)
    if parts is None:
        raise SourceError(
            "a file without an extension, which names its field", got=repr(name), path=path, line=row.line
        )
    if columns.key is None:
        return join(folder, parts[0]), parts[1]
    key = row.values.get(columns.key)
    if key is None or key == "":
        raise SourceError("a row without a key", path=path, line=row.line, column=columns.key)
    text = str(key)
    if options.dots == "replace":
        folder, _, base = text.rpartition("/")
        text = join(folder, base.replace(".", "_"))
    return text, parts[1]


def add_columns(builder: CatalogBuilder, row: Row, columns: Columns) -> None:
    """The text fields and the `json` field of a row; values that are not there make no field."""
    for column, field in sorted(columns.texts.items()):
        value = row.values.get(column)
        if value is not None:
            builder.add_bytes(field, str(value).encode())
    others = {name: row.values[name] for name in columns.others if row.values.get(name) is not None}
    if others:
        text = json.dumps(others, ensure_ascii=False, sort_keys=True, separators=(",", ":"), default=plain)
        builder.add_bytes("json", text.encode())


def plain(value: Any) -> Any:
    """What JSON has no type for (dates, decimals, bytes of a Parquet file) as text."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def meaning(columns: Columns) -> str:
    """How the columns were understood, in a sentence."""
    text = f"columns of the list: {columns.path} is the path"
    if columns.label:
        text += f", {columns.label} the label (cls)"
    if columns.key:
        text += f", {columns.key} the key"
    text += "".join(f", {column} the field {field}" for column, field in sorted(columns.texts.items()))
    if columns.others:
        text += f"; into json: {', '.join(columns.others)}"
    return text
