"""Lists as a source."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.errors import SourceError
from headrace.pack.listing import ListSource
from headrace.pack.options import ListOptions, PackOptions

FILES = {"img/1.jpg": b"1", "img/2.jpg": b"22", "other/3.png": b"333"}


def scan(path, dots="refuse", **options):
    asked = PackOptions(dots=dots, list_options=ListOptions(**options))
    return ListSource().scan(str(path), asked, lambda _: None)


def rows_of(found):
    return [
        {part.field: part.data or part.size_bytes for part in found.catalog.parts(row)}
        for row in range(len(found.catalog))
    ]


def test_csv_with_integer_labels_and_other_columns(tree):
    folder = tree({**FILES, "list.csv": b"File,label,split\nimg/1.jpg,3,a\nother/3.png,0,b\n"})
    found = scan(folder / "list.csv")
    assert list(found.catalog.keys) == ["img/1", "other/3"]
    assert rows_of(found) == [
        {"jpg": 1, "cls": b"3", "json": b'{"split":"a"}'},
        {"png": 3, "cls": b"0", "json": b'{"split":"b"}'},
    ]
    assert found.class_names is None
    assert "File is the path" in found.notes[0]


def test_class_names_are_numbered_in_sorted_order(tree):
    found = scan(tree({**FILES, "l.tsv": b"path\tclass\nimg/1.jpg\tzebra\nimg/2.jpg\tape\n"}) / "l.tsv")
    assert found.class_names == ("ape", "zebra")
    assert [row["cls"] for row in rows_of(found)] == [b"1", b"0"]


def test_json_lines_keep_the_types_of_other_columns(tree):
    text = json.dumps({"image": "img/1.jpg", "caption": "a cät", "box": [1, 2.5], "none": None}) + "\n\n"
    found = scan(tree({**FILES, "l.jsonl": text.encode()}) / "l.jsonl", fields={"caption": "txt"})
    assert rows_of(found) == [{"jpg": 1, "txt": "a cät".encode(), "json": b'{"box":[1,2.5]}'}]


def test_parquet(tree):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    folder = tree(FILES)
    parquet.write_table(pa.table({"path": ["img/1.jpg", "img/2.jpg"], "label": [5, 6]}), folder / "l.parquet")
    assert rows_of(scan(folder / "l.parquet")) == [{"jpg": 1, "cls": b"5"}, {"jpg": 2, "cls": b"6"}]


def test_a_key_column_lets_a_file_come_twice(tree):
    folder = tree({**FILES, "l.csv": b"path,key\nimg/1.jpg,a\nimg/1.jpg,b\n", "m.csv": b"path\nimg/1.jpg\nimg/1.jpg\n"})
    assert list(scan(folder / "l.csv").catalog.keys) == ["a", "b"]
    with pytest.raises(SourceError, match="key-column"):
        scan(folder / "m.csv")


def test_paths_outside_of_the_folder_of_the_list(tree, tmp_path):
    folder = tree({"lists/l.csv": b"path\n../img/1.jpg\n", **FILES})
    assert list(scan(folder / "lists" / "l.csv").catalog.keys) == ["1"]
    (tmp_path / "abs.csv").write_text(f"path\n{folder}/img/1.jpg\n{folder}/other/3.png\n")
    assert list(scan(tmp_path / "abs.csv").catalog.keys) == ["source/img/1", "source/other/3"]


def test_paths_are_followed_as_the_system_does_it(tree, tmp_path):
    folder = tree({"real/deep/l.csv": b"path\n../1.jpg\n", "real/1.jpg": b"x"})
    (tmp_path / "link").symlink_to(folder / "real" / "deep")
    found = scan(tmp_path / "link" / "l.csv")
    assert list(found.catalog.keys) == ["1"]
    assert Path(found.catalog.part(0).path).read_bytes() == b"x"


def test_missing_files_are_counted_and_named_with_line(tree):
    folder = tree({**FILES, "l.csv": b"path\nimg/1.jpg\nimg/gone.jpg\nimg/also.jpg\n"})
    with pytest.raises(SourceError, match=r"2 of 3 .*img/gone\.jpg") as caught:
        scan(folder / "l.csv")
    assert caught.value.where["line"] == 3
    assert caught.value.where["path"] == str(folder / "l.csv")


@pytest.mark.parametrize(
    "name,content,message,line",
    [
        ("l.csv", b"path,label\nimg/1.jpg\n", "1 values under a header of 2", 2),
        ("l.csv", b'path\n"img/1.jpg\n', "not CSV", None),
        ("l.csv", b"", "empty", None),
        ("l.csv", b"path\n", "no rows", None),
        ("l.csv", b"path,path\na,b\n", "one name", 1),
        ("l.csv", b"what,label\nimg/1.jpg,1\n", "path-column", None),
        ("l.csv", b"path,label\nimg/1.jpg,\n", "not a label", 2),
        ("l.csv", b"path\n\xff\n", "UTF-8", None),
        ("l.csv", b"path\nimg\n", "not a file", 2),
        ("l.csv", b"path,label\nimg/1.jpg,1\n,2\n", "without a path", 3),
        ("l.jsonl", b'{"path": "img/1.jpg"}\n{"path"\n', "not JSON", 2),
        ("l.jsonl", b"[" * 100_000, "not JSON", 1),
        ("l.jsonl", b"[1]\n", "not a JSON object", 1),
        ("l.jsonl", b'{"path": "img/1.jpg", "label": 1.5}\n', "not a label", 1),
        ("l.jsonl", b'{"path":"img/1.jpg","label":1}\n{"path":"img/2.jpg","label":"x"}\n', "names in others", None),
        ("l.parquet", b"not parquet", "not a Parquet file", None),
    ],
)
def test_bad_lists_name_file_and_line(tree, name, content, message, line):
    folder = tree({**FILES, name: content})
    with pytest.raises(SourceError, match=message) as caught:
        scan(folder / name)
    assert str(folder / name) in str(caught.value)
    assert line is None or caught.value.where["line"] == line


def test_a_column_that_is_asked_for_must_be_there(tree):
    folder = tree({**FILES, "l.csv": b"path\nimg/1.jpg\n"})
    with pytest.raises(SourceError, match="accepted: path"):
        scan(folder / "l.csv", label_column="kind")


def test_dots_in_names(tree):
    folder = tree({"a.b.jpg": b"1", "l.csv": b"path\na.b.jpg\n"})
    with pytest.raises(SourceError, match="replace-dots"):
        scan(folder / "l.csv")
    assert list(scan(folder / "l.csv", dots="replace").catalog.keys) == ["a_b"]
