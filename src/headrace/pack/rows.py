"""Reads the rows of a CSV, TSV, JSON-lines or Parquet list."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.errors import SourceError, StorageError

EXTENSIONS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row of a list."""

    line: int
    """Line in the text file, from 1, or row of the Parquet file, from 1."""
    values: dict[str, Any]


def read_rows(path: str) -> tuple[list[str], list[Row]]:
    """The column names and the rows of a list; empty lines are passed over.

    Raises:
        SourceError: A line that is not of the format, naming file and line, or an extension that is not known.
        StorageError: The file cannot be read.
    """
    extension = Path(path).suffix.lower()
    if extension not in EXTENSIONS:
        raise SourceError("not a list", got=path, accepted=", ".join(EXTENSIONS))
    try:
        if extension == ".parquet":
            return read_parquet(path)
        rows = list(read_json_lines(path) if extension in {".jsonl", ".ndjson"} else read_csv(path))
    except UnicodeDecodeError as error:
        raise SourceError("the list is not UTF-8 text", got=str(error), path=path) from error
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError("the list cannot be read", got=error.strerror, path=path) from error
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row.values))
    return list(columns), rows


def read_csv(path: str) -> Iterator[Row]:
    """Rows of comma- or tab-separated text with a header line; values are strings."""
    with Path(path).open(encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter="\t" if path.lower().endswith(".tsv") else ",", strict=True)
        try:
            header = next(reader, None)
            if not header:
                raise SourceError("the list is empty", path=path, accepted="a header line with column names")
            if len(set(header)) != len(header):
                raise SourceError("two columns of the list have one name", got=", ".join(header), path=path, line=1)
            for values in reader:
                if not values:
                    continue
                if len(values) != len(header):
                    raise SourceError(
                        f"a line of {len(values)} values under a header of {len(header)}",
                        path=path,
                        line=reader.line_num,
                        remedy="Put values that hold the separator in double quotes.",
                    )
                yield Row(line=reader.line_num, values=dict(zip(header, values, strict=True)))
        except csv.Error as error:
            raise SourceError("not CSV", got=str(error), path=path, line=reader.line_num) from error


def read_json_lines(path: str) -> Iterator[Row]:
    """Rows of JSON objects, one a line."""
    with Path(path).open(encoding="utf-8-sig") as text:
        for line, content in enumerate(text, 1):
            if not content.strip():
                continue
            try:
                values = json.loads(content)
            except (ValueError, RecursionError) as error:
                raise SourceError("not JSON", got=str(error), path=path, line=line) from error
            if not isinstance(values, dict):
                raise SourceError("not a JSON object", got=content.strip()[:60], path=path, line=line)
            yield Row(line=line, values=values)


def read_parquet(path: str) -> tuple[list[str], list[Row]]:
    """Rows of a Parquet file."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise SourceError(
            "Parquet lists need pyarrow", path=path, remedy="pip install pyarrow, or save the list as CSV or JSONL."
        ) from error
    if not Path(path).exists():
        raise SourceError("the source does not exist", path=path)
    try:
        table = parquet.ParquetFile(path).read()
    except ArrowException as error:
        raise SourceError("not a Parquet file", got=str(error), path=path) from error
    rows = [Row(line=line, values=values) for line, values in enumerate(table.to_pylist(), 1)]
    return list(table.column_names), rows
