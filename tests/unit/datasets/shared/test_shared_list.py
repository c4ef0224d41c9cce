from __future__ import annotations

import copy
import enum
import gc
import os
import pickle
from collections.abc import MutableSequence, Sequence
from typing import NamedTuple

import numpy as np
import pytest
import torch

from headrace import SharedList
from headrace.datasets.shared.pack_items import CHUNK
from headrace.errors import OptionError


class Point(NamedTuple):
    x: int
    y: int


class Colour(enum.StrEnum):
    RED = "red"


class Fussy:
    def __reduce__(self):
        raise TypeError("not today")


LAYOUTS = [
    ([], "empty"),
    (["a", "b"], "text"),
    ([b"a", b""], "bytes"),
    ([1, -128], "int8"),
    ([1, 128], "int16"),
    ([1 << 31], "int64"),
    ([1 << 63], "pickled"),
    ([0.5], "float64"),
    ([True, False], "bool"),
    ([1, 0.5], "pickled"),
    ([1, True], "pickled"),
    ([None, None], "pickled"),
    ([("a", 1), ("b", 2)], "(text, int8)"),
    ([("a",)], "(text,)"),
    ([["a", 1]], "[text, int8]"),
    ([("a", 1), ("b", None)], "(text, pickled)"),
    ([("a", 1), ("b",)], "pickled"),
    ([()], "pickled"),
    ([{"path": "a", "at": (1, 2.0)}], "{path: text, at: (int8, float64)}"),
    ([{"a": 1, "b": 2}, {"b": 2, "a": 1}], "pickled"),
    ([{1: 2}], "pickled"),
    ([np.zeros((2, 3), np.float32)] * 2, "float32[2, 3]"),
    ([np.zeros(2), np.zeros(3)], "pickled"),
    ([np.float32(1), np.float32(2)], "numpy.float32"),
    ([np.array(1)], "int64[]"),
    ([Colour.RED], "pickled"),
    ([Point(1, 2)], "pickled"),
    ([np.array([None])], "pickled"),
]


@pytest.mark.parametrize("items, layout", LAYOUTS, ids=[layout for _, layout in LAYOUTS])
def test_layouts(items, layout):
    shared = SharedList(items)
    assert shared.layout == layout
    assert list(map(type, shared)) == list(map(type, items))
    assert list(map(str, shared)) == list(map(str, items))


@pytest.mark.parametrize("odd", [None, 3, "text", 1 << 70, (1, 2, 3)])
def test_one_odd_item_at_the_very_end(odd):
    items = [("a", index) for index in range(CHUNK + 10)]
    shared = SharedList([*items, odd])
    assert shared.layout == "pickled"
    assert shared == [*items, odd]


def test_deep_records_end_in_pickles():
    item = 1
    for _ in range(100):
        item = (item,)
    assert SharedList([item])[0] == item


def test_names_of_files_that_are_no_text():
    names = [os.fsdecode(b"caf\xe9-\xff.jpg"), "caf\u00e9.jpg", "\U0001f600", ""]
    assert list(SharedList(names)) == names
    assert [os.fsencode(name) for name in SharedList(names)] == [os.fsencode(name) for name in names]


def test_a_generator_is_packed_as_it_comes():
    alive, most = 0, 0

    class Item:
        def __init__(self, number):
            nonlocal alive, most
            alive += 1
            most = max(most, alive)
            self.number = number

        def __del__(self):
            nonlocal alive
            alive -= 1

        def __reduce__(self):
            return int, (self.number,)

    shared = SharedList(Item(number) for number in range(5 * CHUNK))
    assert shared[-1] == 5 * CHUNK - 1
    assert most <= CHUNK + 1


def test_a_huge_item():
    huge = "é" * (3 << 20)
    shared = SharedList([huge, "small"])
    assert shared[0] == huge
    assert shared[1] == "small"


def test_is_a_sequence_that_does_not_change():
    shared = SharedList(["a", "b", "a"])
    assert isinstance(shared, Sequence)
    assert not isinstance(shared, MutableSequence)
    assert shared.index("b") == 1
    assert shared.count("a") == 2
    assert "b" in shared
    assert "c" not in shared
    assert list(reversed(shared)) == ["a", "b", "a"]
    with pytest.raises(TypeError):
        shared[0] = "c"
    with pytest.raises(TypeError, match="unhashable"):
        hash(shared)


def test_equal_to_equal_lists():
    shared = SharedList(["a", "b"])
    assert shared == ["a", "b"]
    assert shared == ["a", "b"]
    assert shared == SharedList(["a", "b"])
    assert shared[::-1] == ["b", "a"]
    assert shared != ["a"]
    assert shared != ["a", "c"]
    assert shared != ("a", "b")


def test_indices_out_of_bounds_are_named():
    shared = SharedList(["a", "b"])
    for wrong in (2, -3):
        with pytest.raises(IndexError, match=f"index {wrong} of a list of 2 items"):
            shared[wrong]
        with pytest.raises(IndexError, match=f"index {wrong} of a list of 2 items"):
            shared.take([0, wrong])
    with pytest.raises(TypeError):
        shared[0.5]
    with pytest.raises(OptionError, match="float64"):
        shared.take([0.5])
    with pytest.raises(OptionError, match=r"\(1, 1\)"):
        shared.take([[0]])


def test_indices_of_other_kinds():
    shared = SharedList(["a", "b"])
    assert shared[np.int64(1)] == "b"
    assert shared[torch.tensor(1)] == "b"
    assert shared.take(torch.tensor([1, 0])) == ["b", "a"]
    assert shared.take([]) == []


def test_repr_says_what_it_is():
    text = repr(SharedList([("a.jpg", number) for number in range(2000)]))
    assert text.startswith("SharedList([('a.jpg', 0), ('a.jpg', 1), ('a.jpg', 2), ...], 2,000 items, (text, int16), ")
    assert repr(SharedList([])) == "SharedList([], 0 items, empty, 98 B)"


def test_copies_are_the_same_memory():
    shared = SharedList(["a", "b", "c"])
    part = shared[1:]
    assert copy.copy(shared) is shared
    assert copy.deepcopy({"list": shared})["list"] is shared
    assert SharedList(part).block is shared.block
    assert SharedList(part) == ["b", "c"]


def test_pickled_as_a_handle():
    shared = SharedList(["a" * 1000] * 1000)
    sent = pickle.dumps(shared)
    assert len(sent) < 400
    received = pickle.loads(sent)
    assert received.block is shared.block
    assert pickle.loads(pickle.dumps(shared[10:20])) == ["a" * 1000] * 10


def test_arrays_are_views_and_writing_stays_in_this_process():
    shared = SharedList([np.zeros(4), np.ones(4)])
    view = shared[0]
    view += 7
    assert shared[0].tolist() == [7, 7, 7, 7]
    assert torch.from_numpy(shared[1]).sum() == 4  # a warning here would be an error: the memory can be written to
    again = SharedList([np.zeros(4), np.ones(4)])
    assert again[0].tolist() == [0, 0, 0, 0]


def test_a_view_outlives_its_list():
    view = SharedList([np.arange(100_000)])[0]
    gc.collect()
    assert view.sum() == 4_999_950_000


def test_large_arrays_are_packed_from_where_they_are():
    images = [np.full((200, 400), number, np.uint8) for number in range(3)]
    fortran = np.asfortranarray(np.arange(80_000).reshape(200, 400))
    assert [int(image[0, 0]) for image in SharedList(images)] == [0, 1, 2]
    assert (SharedList([fortran])[0] == fortran).all()


@pytest.mark.parametrize("items", [[1, 2, 300], [0.5, 1.5], [True, False], [[1, 2], [3, 4]], ["a", "bb"]])
def test_as_an_array_it_is_what_the_list_is(items):
    expected = np.array(items)
    for array in (np.array(SharedList(items)), np.asarray(SharedList(items))):
        assert array.dtype == expected.dtype
        assert (array == expected).all()
    assert (np.array(SharedList(items)[::-1]) == expected[::-1]).all()


def test_as_an_array_of_arrays_and_of_a_type():
    assert np.asarray(SharedList([np.zeros((2, 2), np.float32)] * 3)).shape == (3, 2, 2)
    assert np.asarray(SharedList([1, 2]), dtype=np.float32).dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.asarray(SharedList([1, 2]), copy=False)
    assert torch.tensor(SharedList([1, 2])).tolist() == [1, 2]


@pytest.mark.parametrize("odd, name", [(lambda: 0, "function"), (Fussy(), "Fussy")])
def test_what_cannot_be_shared_is_named_with_its_index(odd, name):
    with pytest.raises(OptionError, match=rf"item {CHUNK + 3} cannot be kept in shared memory.*{name}"):
        SharedList([*[1] * (CHUNK + 3), odd])


def test_what_cannot_be_shared_is_named_with_its_place_in_a_record():
    with pytest.raises(OptionError, match=r"item 1 .*\[field=\['a'\]\[1\]\]"):
        SharedList([{"a": (1, 2)}, {"a": (1, Fussy())}])


def test_a_wrong_per_is_refused():
    with pytest.raises(OptionError, match="'host'"):
        SharedList([1], per="host")
