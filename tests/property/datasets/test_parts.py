"""What is fetched in parts, because too many files would be open at once, is what is fetched in one."""

import ctypes

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headrace as hr
from headrace._base.open_files import OPEN_FILES, OpenFiles
from headrace.datasets.fields import parse_fields
from headrace.datasets.shard_source import ShardSource
from headrace.errors import ShardError, StorageError
from headrace.shards import DatasetIndex

NUM, IN_A_SHARD = 36, 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("parts")
    write_shards(folder)
    return folder


def write_shards(folder):
    """12 shards of 3 samples: text in each, under one of two names, a number in every second."""
    with hr.ShardWriter(folder / "x-%02d.tar", samples_per_shard=IN_A_SHARD) as writer:
        for i in range(NUM):
            some = {"cls": i} if i % 2 == 0 else {}
            writer.write({"__key__": f"k{i}", "txt" if i % 3 else "text": f"text {i}" * (1 + i % 5), **some})


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    for i in range(10):
        (folder / f"{i}").write_text(f"file {i}" * i)
    return [str(folder / f"{i}") for i in range(10)]


def content(column):
    """What a column holds, row by row; None where it is absent."""
    rows = zip(column.addresses.tolist(), column.sizes.tolist(), strict=True)
    absent = set(column.absent.tolist())
    return [None if row in absent else ctypes.string_at(at, size) for row, (at, size) in enumerate(rows)]


def facts(columns):
    return {
        name: (content(column), None if column.choices is None else column.choices.tolist(), sorted(column.faults))
        for name, column in columns.items()
    }


def fetched(source, ids, most):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(OpenFiles, "most_at_once", most)
        columns = source.fetch(np.array(ids, dtype=np.int64), np.empty)
        return facts({name: column for name, column in columns.items() if name != "label"})


@given(ids=st.lists(st.integers(0, NUM - 1), max_size=40), most=st.integers(1, 5))
def test_samples_of_shards(ids, most, folder):
    source = ShardSource(DatasetIndex.open(folder), parse_fields(("txt;text", "cls"), ("txt", "text", "cls")))
    assert fetched(source, ids, most) == fetched(source, ids, 1000)
    source.close()
    assert OPEN_FILES.num_in_use == 0


def listed(paths):
    return hr.FileDataset([{"path": path} for path in paths], fields={"file": "path"}, missing="skip").source


@given(ids=st.lists(st.integers(0, 9), max_size=20), most=st.integers(1, 5))
def test_loose_files(ids, most, files):
    source = listed(files)
    assert fetched(source, ids, most) == fetched(source, ids, 1000)
    assert fetched(source, ids, most) == {"file": ([f"file {i}".encode() * i for i in ids], None, [])}


@given(ids=st.lists(st.integers(0, 12), max_size=20), most=st.integers(1, 5))
def test_loose_files_of_which_some_are_gone(ids, most, files):
    source = listed([*files, "gone1", "gone2", "gone3"])
    there = [f"file {i}".encode() * i if i < 10 else None for i in ids]
    assert fetched(source, ids, most) == {"file": (there, None, [row for row, i in enumerate(ids) if i > 9])}


def test_a_file_that_cannot_be_read_is_named(files, tmp_path):
    (tmp_path / "folder").mkdir()
    source = listed([*files, str(tmp_path / "folder")])
    with pytest.raises(StorageError, match="folder"):
        fetched(source, list(range(11)), 3)
    assert OPEN_FILES.num_in_use == 0


def test_a_shard_that_is_cut_is_named(tmp_path):
    write_shards(tmp_path)
    source = ShardSource(DatasetIndex.open(tmp_path), parse_fields("txt;text", ("txt", "text")))
    (tmp_path / "x-07.tar").write_bytes((tmp_path / "x-07.tar").read_bytes()[:600])
    with pytest.raises(ShardError, match="x-07"):
        fetched(source, list(range(NUM)), 2)
    source.close()
    assert OPEN_FILES.num_in_use == 0
