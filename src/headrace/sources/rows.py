"""Reads a CSV, TSV, JSON-lines or Parquet list, some thousand rows at a time."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headrace.errors import SourceError, StorageError

if TYPE_CHECKING:
    from _csv import Reader as CsvReader

EXTENSIONS = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")
TOO_LONG = "field larger than field limit"
"""What Python's `csv` says of a value over its limit."""

CHUNK_ROWS = 4096
"""Rows that are at hand together: enough to make the cost of a chunk small, few enough for any list's memory."""

CHUNK_OBJECTS = 256
"""The same where a row is an object. Many objects that live at once make Python's collector look through all others
again and again: in a process that has imported torch, three times the time of the reading itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """Some rows of a list, in their order."""

    lines: Sequence[int]
    """Line of each row in the text file, or its number in a Parquet file, from 1."""
    columns: Mapping[str, Sequence[Any]]
    """The values of each column; None where a row has none."""


def read_chunks(path: str) -> Iterator[Chunk]:
    """The rows of a list; empty lines are passed over.

    All chunks of a CSV or Parquet file have all of its columns, also where there is no row: then there is one chunk
    without rows. A chunk of JSON lines has the columns that its own rows name.

    Raises:
        SourceError: A line that is not of the format, naming file and line, or an extension that is not known.
        StorageError: The file cannot be read.
    """
    extension = Path(path).suffix.lower()
    if extension not in EXTENSIONS:
        raise SourceError("not a list", got=path, accepted=", ".join(EXTENSIONS))
    with naming(path):
        if extension == ".parquet":
            yield from read_parquet(path)
        elif extension in {".jsonl", ".ndjson"}:
            yield from read_json_lines(path)
        else:
            yield from read_csv(path)


def in_chunks(rows: Iterable[Any], what: str) -> Iterator[Chunk]:
    """Mappings that are at hand as chunks.

    Raises:
        SourceError: A row that is no mapping of names to values, with its number.
    """
    numbered = enumerate(rows, 1)
    while chunk := list(islice(numbered, CHUNK_OBJECTS)):
        for number, row in chunk:
            if not isinstance(row, Mapping) or not all(isinstance(name, str) for name in row):
                raise SourceError(
                    f"row {number} of {what} is no mapping of column names to values", got=type(row).__name__
                )
        yield by_column([number for number, _ in chunk], [row for _, row in chunk])


@contextmanager
def naming(path: str) -> Iterator[None]:
    """Turns what reading a text file raises into errors that name it."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise SourceError("the list is not UTF-8 text", got=str(error), path=path) from error
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError("the list cannot be read", got=error.strerror, path=path) from error


def read_csv(path: str) -> Iterator[Chunk]:
    """Rows of comma- or tab-separated text with a header line; values are strings."""
    with Path(path).open(encoding="utf-8-sig", newline="") as text:
        reader = csv.reader(text, delimiter="\t" if path.lower().endswith(".tsv") else ",", strict=True)
        try:
            header = next(reader, None)
            if not header:
                raise SourceError("the list is empty", path=path, accepted="a header line with column names")
            if len(set(header)) != len(header):
                raise SourceError("two columns of the list have one name", got=", ".join(header), path=path, line=1)
            yield from csv_chunks(header, reader, path)
        except csv.Error as error:
            if TOO_LONG in str(error):
                raise too_long(path, reader.line_num) from error
            raise SourceError("not CSV", got=str(error), path=path, line=reader.line_num) from error


def too_long(path: str, line: int) -> SourceError:
    """What a list says one of whose values is longer than Python's `csv` reads.

    The limit is one of the whole process, so it is the user who may raise it, not we.
    """
    limit = csv.field_size_limit()
    return SourceError(
        "a value of the list is longer than Python's csv reads",
        got=f"more than {limit:,} characters",
        path=path,
        line=line,
        column=long_column(path, line, limit),
        remedy="A quote that is not closed makes such values: mend the line. If it is meant: save the list as JSONL or "
        "Parquet, or call csv.field_size_limit(...) before",
    )


def long_column(path: str, line: int, limit: int) -> str | None:
    """The name of the column whose value ends beyond the limit at a line; None where it cannot be told."""
    separator = "\t" if path.lower().endswith(".tsv") else ","
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as text:
            header = next(csv.reader(text, delimiter=separator), [])
    except csv.Error:
        return None
    with Path(path).open(encoding="utf-8-sig", newline="") as text:
        place, size, quoted = 0, 0, False
        for number, content in enumerate(islice(text, line), 1):
            for one in content:
                quoted ^= one == '"'
                ends = not quoted and one in (separator, "\n", "\r")
                size = 0 if ends else size + (one != '"')
                place = 0 if ends and one != separator else place + ends
                if size > limit and number == line:
                    return header[place] if place < len(header) else None
    return None


def csv_chunks(header: Sequence[str], reader: CsvReader, path: str) -> Iterator[Chunk]:
    """Lines as columns. Only strings are kept, one after another, of which every n-th belongs to a column."""
    flat, lines, num_read = list[str](), list[int](), 0
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
        flat += values
        lines.append(reader.line_num)
        if len(lines) == CHUNK_ROWS:
            yield csv_chunk(header, flat, lines)
            flat, lines, num_read = [], [], num_read + CHUNK_ROWS
    if lines or not num_read:
        yield csv_chunk(header, flat, lines)


def csv_chunk(header: Sequence[str], flat: Sequence[str], lines: Sequence[int]) -> Chunk:
    """Rows whose values lie one after another."""
    return Chunk(lines=lines, columns={name: flat[place :: len(header)] for place, name in enumerate(header)})


def read_json_lines(path: str) -> Iterator[Chunk]:
    """Rows of JSON objects, one a line."""
    with Path(path).open(encoding="utf-8-sig") as text:
        following = ((line, json_row(line, content, path)) for line, content in enumerate(text, 1) if content.strip())
        while chunk := list(islice(following, CHUNK_OBJECTS)):
            yield by_column([line for line, _ in chunk], [row for _, row in chunk])


def json_row(line: int, content: str, path: str) -> dict[str, Any]:
    """One line of JSON."""
    try:
        values = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise SourceError("not JSON", got=str(error), path=path, line=line) from error
    if not isinstance(values, dict):
        raise SourceError("not a JSON object", got=content.strip()[:60], path=path, line=line)
    return values


def by_column(lines: Sequence[int], rows: Sequence[Mapping[str, Any]]) -> Chunk:
    """Rows as columns, in the order in which the rows first name them."""
    names = dict.fromkeys(name for row in rows for name in row)
    return Chunk(lines=lines, columns={name: [row.get(name) for row in rows] for name in names})


def read_parquet(path: str) -> Iterator[Chunk]:
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
        with parquet.ParquetFile(path) as file:
            num_read = 0
            for batch in file.iter_batches(batch_size=CHUNK_ROWS):
                lines = range(num_read + 1, num_read + batch.num_rows + 1)
                yield Chunk(lines=lines, columns=batch.to_pydict())
                num_read = lines.stop - 1
            if not num_read:
                yield Chunk(lines=(), columns=dict.fromkeys(file.schema_arrow.names, ()))
    except ArrowException as error:
        raise SourceError("not a Parquet file", got=str(error), path=path) from error
