"""Walking a folder of files to pack."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from headrace.errors import SourceError
from headrace.sources.folders import look, name_of, walk


@pytest.mark.timeout(20)
@pytest.mark.parametrize("note", [look, name_of])
def test_a_named_pipe_among_the_files_is_named_and_not_waited_for(tmp_path: Path, note) -> None:
    (tmp_path / "a.txt").write_text("a")
    os.mkfifo(tmp_path / "b.txt")
    with pytest.raises(SourceError, match="pipe or a device") as caught:
        walk(str(tmp_path), note)
    assert str(tmp_path / "b.txt") in str(caught.value)


@pytest.mark.parametrize("note", [look, name_of])
@pytest.mark.parametrize(
    ("links", "said"),
    [
        ({"a.jpg": "a.jpg"}, "in a circle"),
        ({"sub": "sub"}, "in a circle"),
        ({"a": "b", "b": "a"}, "in a circle"),
        ({"a.jpg": "gone.jpg"}, "leads to nothing"),
        ({"in/up": ".."}, "back to a folder above"),
        ({"in/self": "."}, "back to a folder above"),
    ],
)
def test_links_that_lead_nowhere_or_back_are_named_with_their_target(tmp_path: Path, links, said, note) -> None:
    (tmp_path / "in").mkdir()
    for name, target in links.items():
        (tmp_path / name).symlink_to(target)
    with pytest.raises(SourceError, match=said) as caught:
        walk(str(tmp_path), note)
    first = next(iter(links))
    assert str(tmp_path / first) in str(caught.value)
    assert f"a link to {links[first]!r}" in str(caught.value)


@pytest.mark.parametrize("target", ["root", "gone"])
def test_a_root_that_is_such_a_link_is_told_as_that(tmp_path: Path, target) -> None:
    (tmp_path / "root").symlink_to(target)
    with pytest.raises(SourceError, match=rf"leads to nothing, or in a circle.*a link to '{target}'"):
        walk(str(tmp_path / "root"), name_of)
