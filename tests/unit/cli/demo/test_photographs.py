from __future__ import annotations

import hashlib

import pytest
from PIL import Image

from headrace.cli.demo import photographs as maker
from headrace.errors import SourceError


def digest(folder):
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*.jpg")):
        whole.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return whole.hexdigest()


def test_number_classes_and_sizes(tmp_path):
    maker.make_photographs(tmp_path / "photographs", num=37)
    paths = list((tmp_path / "photographs").rglob("*.jpg"))
    assert len(paths) == 37
    assert {path.parent.name for path in paths} == set(maker.SOURCES)
    for path in paths:
        with Image.open(path) as image:
            assert (image.format, image.mode) == ("JPEG", "RGB")
            assert image.size in maker.SIZES


def test_same_seed_gives_same_files_whatever_the_processes(tmp_path):
    maker.make_photographs(tmp_path / "a", num=24, seed=3)
    maker.make_photographs(tmp_path / "b", num=24, seed=3, num_processes=2)
    maker.make_photographs(tmp_path / "c", num=24, seed=4)
    assert digest(tmp_path / "a") == digest(tmp_path / "b") != digest(tmp_path / "c")


def test_progress_counts_every_photograph(tmp_path):
    counts = []
    maker.make_photographs(tmp_path / "a", num=24, on_progress=counts.append)
    assert sum(counts) == 24


def test_a_folder_that_is_there_stays(tmp_path):
    (tmp_path / "a").mkdir()
    maker.make_photographs(tmp_path / "a", num=24)
    assert list((tmp_path / "a").iterdir()) == []


def test_nothing_is_left_of_a_failure(tmp_path, monkeypatch):
    monkeypatch.setattr(maker, "SOURCES", {"cat": (("skimage", "data/no_such_file.png"),)})
    with pytest.raises(SourceError, match=r"no_such_file\.png.*headrace\[demo\]"):
        maker.make_photographs(tmp_path / "a", num=24)
    assert list(tmp_path.iterdir()) == []
