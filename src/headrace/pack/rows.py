"""The rows of a list, all at hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.sources.rows import read_chunks


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
    names: dict[str, None] = {}
    rows: list[Row] = []
    for chunk in read_chunks(path):
        names |= dict.fromkeys(chunk.columns)
        for line, *values in zip(chunk.lines, *chunk.columns.values(), strict=True):
            rows.append(Row(line=line, values=dict(zip(chunk.columns, values, strict=True))))
    return list(names), rows
