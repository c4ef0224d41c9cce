from __future__ import annotations

import pytest

from headrace.cli.demo.selection import select_photographs
from headrace.errors import SourceError


def test_takes_all_when_there_are_few(photographs, tmp_path):
    assert select_photographs(photographs, tmp_path / "tree", num=1000) == 60
    links = list((tmp_path / "tree").rglob("*.jpg"))
    assert {link.resolve() for link in links} == {path.resolve() for path in photographs.rglob("*.jpg")}
    assert all(link.parent.name == link.resolve().parent.name for link in links)


def test_spreads_over_the_classes_when_there_are_many(photographs, tmp_path):
    assert select_photographs(photographs, tmp_path / "tree", num=20) == 20
    counts = [len(list(folder.iterdir())) for folder in (tmp_path / "tree").iterdir()]
    assert counts == [2] * 10


def test_another_call_replaces_the_tree(photographs, tmp_path):
    select_photographs(photographs, tmp_path / "tree", num=20)
    select_photographs(photographs, tmp_path / "tree", num=10)
    assert len(list((tmp_path / "tree").rglob("*.jpg"))) == 10


def test_flat_folder_is_one_class(photographs, tmp_path):
    assert select_photographs(photographs / "cat", tmp_path / "tree", num=100) == 6
    assert [folder.name for folder in (tmp_path / "tree").iterdir()] == ["photographs"]


@pytest.mark.parametrize(("make", "message"), [(False, "no such folder"), (True, "no photographs")])
def test_refuses_what_holds_none(tmp_path, make, message):
    source = tmp_path / "source"
    if make:
        (source / ".hidden").mkdir(parents=True)
        (source / ".hidden" / "a.jpg").touch()
        (source / "notes.txt").touch()
    with pytest.raises(SourceError, match=f"{message}.*source"):
        select_photographs(source, tmp_path / "tree", num=10)
    assert not (tmp_path / "tree").exists()
