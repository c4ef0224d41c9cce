"""Whether a dataset still looks as it did."""

from __future__ import annotations

import io
import multiprocessing

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

from headrace.loader import outline
from headrace.loader.outline import holds_files, outline_of


class Thing:
    """Of any contents."""

    def __init__(self, **contents):
        self.__dict__.update(contents)


def everything():
    return Thing(
        number=1,
        texts=["a", "b"],
        table={"x": {1, 2}},
        array=np.arange(10),
        tensor=torch.arange(4),
        transform=v2.Compose([v2.Resize(8), v2.RandomHorizontalFlip()]),
        function=lambda value: value + 1,
    )


def test_what_is_the_same_looks_the_same():
    thing = everything()
    assert outline_of(thing) == outline_of(thing) != None  # noqa: E711 - neither is None


@pytest.mark.parametrize(
    "change",
    [
        lambda thing: setattr(thing, "number", 2),
        lambda thing: thing.texts.append("c"),
        lambda thing: thing.table["x"].add(3),
        lambda thing: thing.array.__setitem__(3, 99),
        lambda thing: thing.tensor.add_(1),
        lambda thing: setattr(thing.transform.transforms[0], "size", [16]),
        lambda thing: setattr(thing, "function", lambda value: value + 2),
        lambda thing: setattr(thing, "new", None),
    ],
)
def test_a_change_anywhere_is_seen(change):
    thing = everything()
    before = outline_of(thing)
    change(thing)
    assert outline_of(thing) != before


def test_large_collections_count_as_long_as_they_are_the_same_object_of_the_same_length():
    thing = Thing(paths=[str(number) for number in range(outline.MOST_ITEMS + 1)])
    before = outline_of(thing)
    thing.paths[0] = "another"
    assert outline_of(thing) == before, "they are not looked through"
    thing.paths.append("more")
    assert outline_of(thing) != before


def test_large_arrays_and_tensors_too_but_torch_counts_changes(monkeypatch):
    monkeypatch.setattr(outline, "MOST_BYTES", 100)
    thing = Thing(array=np.zeros(200), tensor=torch.zeros(200))
    before = outline_of(thing)
    thing.array[0] = 1
    assert outline_of(thing) == before
    thing.tensor.add_(1)
    assert outline_of(thing) != before


def test_where_nothing_can_be_told_nothing_is(monkeypatch):
    assert outline_of(Thing(rows=(row for row in "ab"))) is None
    monkeypatch.setattr(outline, "MOST_OBJECTS", 50)
    assert outline_of(Thing(texts=[str(number) for number in range(60)])) is None


def test_what_workers_share_is_the_same_whatever_is_written_there(tmp_path):
    file = np.memmap(tmp_path / "rows", mode="w+", dtype=np.uint8, shape=(100,))
    array = np.frombuffer(multiprocessing.Array("d", 9, lock=False))
    for shared in (file, np.asarray(file)[5:], torch.zeros(9).share_memory_(), array):
        thing = Thing(marks=shared)
        before = outline_of(thing)
        shared[0] = 7
        assert outline_of(thing) == before
        thing.marks = shared[1:]
        assert outline_of(thing) != before


def test_sparse_tensors_are_looked_through():
    thing = Thing(rows=torch.eye(3).to_sparse())
    before = outline_of(thing)
    assert before is not None
    assert outline_of(thing) == before
    thing.rows = (2 * torch.eye(3)).to_sparse()
    assert outline_of(thing) != before


def test_memory_that_is_borrowed_and_not_shared_is_looked_through():
    thing = Thing(array=np.frombuffer(bytearray(8), dtype=np.uint8))
    before = outline_of(thing)
    thing.array[0] = 1
    assert outline_of(thing) != before


def test_open_files_are_found(tmp_path):
    (tmp_path / "rows").write_bytes(b"rows")
    with (tmp_path / "rows").open("rb") as binary, (tmp_path / "rows").open() as text:
        for file in (binary, text, io.BytesIO(b"rows")):
            assert holds_files(Thing(inner=[Thing(file=file)]))
    assert not holds_files(Thing(inner=[Thing(file=str(tmp_path))]))
    assert not holds_files(Thing(rows=(row for row in "ab")))
