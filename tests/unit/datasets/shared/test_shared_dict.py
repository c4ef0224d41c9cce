from __future__ import annotations

import copy
import os
import pickle
from collections.abc import Mapping, MutableMapping

import pytest

from headrace import SharedDict
from headrace.datasets.shared.keyed_column import KeyTable, make_table
from headrace.errors import OptionError


def test_is_a_mapping_that_does_not_change():
    shared = SharedDict({"a": 1, "b": 2})
    assert isinstance(shared, Mapping)
    assert not isinstance(shared, MutableMapping)
    assert shared["a"] == 1
    assert shared.get("c") is None
    assert "b" in shared
    assert 1 not in shared
    assert list(shared.keys()) == ["a", "b"]
    assert ("a", 1) in shared.items()
    assert 2 in shared.values()
    assert dict(shared) == {"a": 1, "b": 2}
    assert {**shared} == {"a": 1, "b": 2}
    for wrong in ("c", 1, None):
        with pytest.raises(KeyError):
            shared[wrong]
        with pytest.raises(KeyError):
            shared.take(["a", wrong])
    with pytest.raises(TypeError):
        shared["c"] = 3
    with pytest.raises(TypeError, match="unhashable"):
        hash(shared)


def test_equal_to_equal_dicts():
    shared = SharedDict({"a": 1, "b": 2})
    assert shared == {"b": 2, "a": 1}
    assert shared == {"a": 1, "b": 2}
    assert shared == SharedDict([("a", 1), ("b", 2)])
    assert shared != {"a": 1, "b": 3}
    assert shared != {"a": 1, "c": 2}
    assert shared != {"a": 1}
    assert shared != [("a", 1), ("b", 2)]


def test_of_equal_keys_the_last_counts():
    assert dict(SharedDict([("a", 1), ("b", 2), ("a", 3)])) == {"a": 3, "b": 2}


def test_an_empty_one():
    shared = SharedDict({})
    assert len(shared) == 0
    assert "a" not in shared
    assert list(shared) == []
    assert list(shared.values()) == []


def test_keys_that_are_no_text_are_named():
    with pytest.raises(OptionError, match=r"3 \(int\)"):
        SharedDict({"a": 1, 3: 2})


def test_values_that_cannot_be_shared_are_named():
    with pytest.raises(OptionError, match=r"item 1 .*function"):
        SharedDict({"a": 1, "b": lambda: 0})


def test_names_of_files_that_are_no_text():
    name = os.fsdecode(b"caf\xe9.jpg")
    shared = SharedDict({name: 1, "caf\u00e9.jpg": 2})
    assert shared[name] == 1
    assert list(shared) == [name, "caf\u00e9.jpg"]


def test_repr_and_layout_say_what_it_is():
    shared = SharedDict({f"{number}.jpg": {"label": number} for number in range(1000)})
    assert shared.layout == "text: {label: int16}"
    beginning = "SharedDict({'0.jpg': {'label': 0}, '1.jpg': {'label': 1}, '2.jpg': {'label': 2}, ...}"
    assert repr(shared).startswith(beginning)
    assert "1,000 items" in repr(shared)


def test_copies_are_the_same_memory_and_pickles_are_handles():
    shared = SharedDict({str(number): "a" * 100 for number in range(1000)})
    assert copy.copy(shared) is shared
    assert copy.deepcopy([shared])[0] is shared
    assert SharedDict(shared).block is shared.block
    assert len(pickle.dumps(shared)) < 400
    assert pickle.loads(pickle.dumps(shared)) == shared


@pytest.mark.parametrize("num", [0, 1, 2, 3, 1000, 1024, 5000])
def test_the_table_leads_to_every_row(num):
    keys = [f"key {number}" for number in range(num)]
    starts, order = make_table(keys)
    table = KeyTable(starts, order)
    assert sorted(order.tolist()) == list(range(num))
    assert all(row in table.candidates(key.encode()) for row, key in enumerate(keys))
    lengths = [len(table.candidates(key.encode())) for key in keys]
    assert sum(lengths) <= 3 * max(1, num)
