"""Files that share a name as a source."""

from __future__ import annotations

import pytest

from headrace.errors import SourceError
from headrace.pack.options import PackOptions
from headrace.pack.sibling_files import SiblingSource


def scan(folder, **options):
    return SiblingSource().scan(str(folder), PackOptions(**options), lambda _: None)


def test_files_of_one_name_are_one_sample_in_every_folder(tree):
    found = scan(tree({"a.jpg": b"1", "a.txt": b"2", "a.seg.png": b"3", "d/b.JPG": b"4", "d/b.json": b"5"}))
    assert list(found.catalog.keys) == ["a", "d/b"]
    fields = [[part.field for part in found.catalog.parts(row)] for row in range(2)]
    assert fields == [["jpg", "seg.png", "txt"], ["jpg", "json"]]


def test_fields_that_some_samples_lack_are_noted(tree):
    assert "txt (1)" in scan(tree({"a.jpg": b"1", "a.txt": b"2", "b.jpg": b"3"})).notes[0]


def test_numbered_names_with_dots_are_refused_and_replaced_on_request(tree):
    folder = tree({"img.0001.jpg": b"1", "img.0001.txt": b"2"})
    with pytest.raises(SourceError, match="replace-dots"):
        scan(folder)
    found = scan(folder, dots="replace")
    assert list(found.catalog.keys) == ["img_0001"]
    assert [part.field for part in found.catalog.parts(0)] == ["jpg", "txt"]


def test_two_files_for_one_field_are_refused_by_name(tree):
    folder = tree({"a.jpg": b"1"})
    (folder / "a.JPG").write_bytes(b"2")
    if len(list(folder.iterdir())) == 1:
        pytest.skip("this file system ignores case")
    with pytest.raises(SourceError, match=r"a\.JPG"):
        scan(folder)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(SourceError, match="no files"):
        scan(tmp_path)


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(SourceError, match="does not exist"):
        scan(tmp_path / "gone")
