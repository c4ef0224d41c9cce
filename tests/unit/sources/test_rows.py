"""Lists in pieces."""

from __future__ import annotations

import csv
import json

import pytest

from headrace.errors import SourceError, StorageError
from headrace.sources import rows
from headrace.sources.rows import in_chunks, read_chunks


def whole(chunks):
    """All rows as (line, values) pairs."""
    return [
        (line, {name: column[at] for name, column in chunk.columns.items()})
        for chunk in chunks
        for at, line in enumerate(chunk.lines)
    ]


@pytest.mark.parametrize("num_rows", [0, 1, 3, 4, 5, 9])
def test_pieces_of_every_size_hold_all_rows(tmp_path, monkeypatch, num_rows):
    monkeypatch.setattr(rows, "CHUNK_ROWS", 4)
    monkeypatch.setattr(rows, "CHUNK_OBJECTS", 4)
    values = [{"a": str(number), "b": f"x,{number}"} for number in range(num_rows)]
    (tmp_path / "l.csv").write_text("a,b\n" + "".join(f'{row["a"]},"{row["b"]}"\n' for row in values))
    (tmp_path / "l.jsonl").write_text("".join(json.dumps(row) + "\n" for row in values))
    assert [row for _, row in whole(read_chunks(str(tmp_path / "l.csv")))] == values
    assert [row for _, row in whole(read_chunks(str(tmp_path / "l.jsonl")))] == values
    assert [row for _, row in whole(in_chunks(iter(values), "rows"))] == values
    assert [number for number, _ in whole(in_chunks(values, "rows"))] == list(range(1, num_rows + 1))


def test_lines_are_those_of_the_file(tmp_path):
    (tmp_path / "l.csv").write_bytes('\ufeffa,b\r\n1,"two\nlines"\r\n\r\n3,"a ""b"""\r\n'.encode())
    assert whole(read_chunks(str(tmp_path / "l.csv"))) == [
        (3, {"a": "1", "b": "two\nlines"}),
        (5, {"a": "3", "b": 'a "b"'}),
    ]


def test_objects_with_different_names(tmp_path):
    (tmp_path / "l.jsonl").write_text('{"a": 1}\n\n{"b": [2]}\n')
    assert whole(read_chunks(str(tmp_path / "l.jsonl"))) == [(1, {"a": 1, "b": None}), (3, {"a": None, "b": [2]})]


def test_columns_are_there_without_rows(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "l.tsv").write_text("a\tb\n")
    parquet.write_table(pa.table({"a": [], "b": []}), tmp_path / "l.parquet")
    for name in ("l.tsv", "l.parquet"):
        (chunk,) = read_chunks(str(tmp_path / name))
        assert list(chunk.columns) == ["a", "b"]
        assert not chunk.lines


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(SourceError, match="not a list"):
        list(read_chunks("l.txt"))
    with pytest.raises(StorageError, match=r"cannot be read.*l\.csv"):
        list(read_chunks(str(tmp_path / "l.csv")))
    with pytest.raises(SourceError, match="row 2 of the rows"):
        list(in_chunks([{"a": 1}, {1: 2}], "the rows"))


@pytest.mark.parametrize(
    ("lines", "line", "column"),
    [
        (["a,b", "1,{long}"], 2, "b"),
        (["a,b", "1,2", '"x, ""y""\nz","{long}"'], 4, "b"),
        (["a,b", '"{long}",2'], 2, "a"),
        (["a,b", '1,"{long}\n{long}"'], 2, "b"),
        (["a,{long}", "1,2"], 1, None),
    ],
)
def test_a_value_over_the_limit_of_csv_names_line_column_and_remedy(tmp_path, lines, line, column):
    limit = csv.field_size_limit()
    text = "\n".join(lines).replace("{long}", "x" * (limit + 1))
    (tmp_path / "l.csv").write_text(text + "\n")
    with pytest.raises(SourceError, match=r"longer than Python's csv reads.*csv\.field_size_limit") as caught:
        list(read_chunks(str(tmp_path / "l.csv")))
    assert caught.value.where["line"] == line
    assert caught.value.where.get("column") == column
    assert csv.field_size_limit() == limit
