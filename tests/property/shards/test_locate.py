from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import _native
from headrace.shards.scan import scan_bytes
from headrace.shards.table import IndexTable
from tests.tars import tar_of

SAMPLES = st.lists(st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True, min_size=1), min_size=1, max_size=6)
ENTRY = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), unique=True, max_size=4)


def reference(table: IndexTable, sample: int, entry: list[str]) -> tuple[int, int, int]:
    """What `locate` promises, in plain Python."""
    places = {field: (offset, size) for field, offset, size in table.members_of(sample)}
    for choice, field in enumerate(entry):
        if field in places:
            return (*places[field], choice)
    return 0, 0, -1


@given(SAMPLES, ENTRY, st.data())
def test_native_locate_is_the_reference(samples: list[list[str]], entry: list[str], data: st.DataObject) -> None:
    members = [(f"{i}.{field}", b"x" * (i + 1)) for i, fields in enumerate(samples) for field in fields]
    table = scan_bytes(tar_of(members), "shard").table
    ids = data.draw(st.lists(st.integers(0, len(samples) - 1), max_size=10))
    found = table.locate(np.array(ids, dtype=np.int64), table.field_numbers(entry))
    assert list(zip(*(column.tolist() for column in found), strict=True)) == [reference(table, i, entry) for i in ids]


@given(st.lists(SAMPLES, min_size=1, max_size=4), ENTRY.filter(bool), st.data())
def test_rows_of_several_shards_are_located_as_in_each(
    shards: list[list[list[str]]], entry: list[str], data: st.DataObject
) -> None:
    tables = [
        scan_bytes(
            tar_of([(f"{i}.{field}", b"x" * (i + 1)) for i, fields in enumerate(samples) for field in fields]), "shard"
        ).table
        for samples in shards
    ]
    row = st.integers(-1, len(shards) - 1).flatmap(
        lambda shard: st.tuples(st.just(shard), st.integers(0, 0 if shard < 0 else len(shards[shard]) - 1))
    )
    rows = data.draw(st.lists(row, max_size=12))
    found = _native.locate_rows(
        np.array([table.pointers() for table in tables]),
        np.array([table.field_numbers(entry) for table in tables]),
        np.array([shard for shard, _ in rows], dtype=np.int32),
        np.array([sample for _, sample in rows], dtype=np.int64),
    )
    expected = [reference(tables[shard], sample, entry) if shard >= 0 else (0, 0, -1) for shard, sample in rows]
    assert list(zip(*(column.tolist() for column in found), strict=True)) == expected


def test_rows_out_of_bounds_are_refused() -> None:
    table = scan_bytes(tar_of([("0.a", b"x")]), "shard").table
    pointers, wanted = table.pointers()[None], table.field_numbers(["a"])[None]
    for shard, sample in ((1, 0), (0, 1), (0, -1)):
        with pytest.raises(IndexError):
            _native.locate_rows(pointers, wanted, np.array([shard], dtype=np.int32), np.array([sample], dtype=np.int64))
    with pytest.raises(ValueError, match="shards and samples"):
        _native.locate_rows(pointers, wanted, np.zeros(2, dtype=np.int32), np.zeros(1, dtype=np.int64))
