"""File names taken apart."""

from __future__ import annotations

import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.sources.names import split_path


@given(st.text("ab./", max_size=8))
def test_paths_split_as_the_standard_library_splits_them(path):
    stem, end = split_path(path)
    assert stem + end == path
    if not path.rpartition("/")[2].startswith(".."):  # dots alone are no end there
        assert (stem, end) == os.path.splitext(path)  # noqa: PTH122


@pytest.mark.parametrize(
    ("path", "parts"),
    [("a/b.tar.gz", ("a/b.tar", ".gz")), ("a.b/c", ("a.b/c", "")), ("a/.b", ("a/.b", "")), ("x.", ("x", "."))],
)
def test_ends(path, parts):
    assert split_path(path) == parts
