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


def table_of(samples: list[list[str]]) -> IndexTable:
    members = [(f"{i}.{field}", b"x" * (i + 1)) for i, fields in enumerate(samples) for field in fields]
    return scan_bytes(tar_of(members), "shard").table


def fields_of(table: IndexTable, entries: list[list[str]], fd: int = 0) -> _native.ShardFields:
    columns = table.sample_starts, table.offsets, table.sizes, table.field_ids
    return _native.ShardFields(fd, *columns, [table.field_numbers(entry) for entry in entries])


@given(st.lists(SAMPLES, min_size=1, max_size=4), st.lists(ENTRY, min_size=1, max_size=3), st.data())
def test_rows_of_several_shards_are_located_as_in_each(
    shards: list[list[list[str]]], entries: list[list[str]], data: st.DataObject
) -> None:
    tables = [table_of(samples) for samples in shards]
    row = st.integers(-1, len(shards) - 1).flatmap(
        lambda shard: st.tuples(st.just(shard), st.integers(0, 0 if shard < 0 else len(shards[shard]) - 1))
    )
    rows = data.draw(st.lists(row, max_size=12))
    missing = data.draw(st.sets(st.integers(0, len(shards) - 1)))
    fds, offsets, sizes, choices, absent = _native.locate_rows(
        [None if i in missing else fields_of(table, entries, 7 + i) for i, table in enumerate(tables)],
        len(entries),
        np.array([shard for shard, _ in rows], dtype=np.int32),
        np.array([sample for _, sample in rows], dtype=np.int64),
    )
    for number, entry in enumerate(entries):
        expected = [
            reference(tables[shard], sample, entry) if shard >= 0 and shard not in missing else (0, 0, -1)
            for shard, sample in rows
        ]
        found = offsets[number].tolist(), sizes[number].tolist(), choices[number].tolist()
        assert list(zip(*found, strict=True)) == expected
        assert absent[number].tolist() == [i for i, (_, _, choice) in enumerate(expected) if choice < 0]
        there = [7 + shard if choice >= 0 else -1 for (shard, _), (_, _, choice) in zip(rows, expected, strict=True)]
        assert fds[number].tolist() == there


def test_rows_out_of_bounds_are_refused() -> None:
    shard = fields_of(table_of([["a"]]), [["a"]])
    for place, sample, num_entries in ((1, 0, 1), (0, 1, 1), (0, -1, 1), (0, 0, 2)):
        places, samples = np.array([place], dtype=np.int32), np.array([sample], dtype=np.int64)
        with pytest.raises(IndexError):
            _native.locate_rows([shard], num_entries, places, samples)
    with pytest.raises(ValueError, match="places and samples"):
        _native.locate_rows([shard], 1, np.zeros(2, dtype=np.int32), np.zeros(1, dtype=np.int64))


@given(st.lists(st.integers(0, 5), max_size=6), st.data())
def test_samples_are_placed_in_their_shards(counts: list[int], data: st.DataObject) -> None:
    numbered = [(shard, sample) for shard, count in enumerate(counts) for sample in range(count)]
    ids = data.draw(st.lists(st.integers(0, max(0, len(numbered) - 1)), max_size=12 if numbered else 0))
    shards, places, samples = _native.place_samples(np.cumsum(counts, dtype=np.int64), np.array(ids, dtype=np.int64))
    assert shards == sorted({numbered[i][0] for i in ids})
    assert [(shards[place], sample) for place, sample in zip(places, samples, strict=True)] == [
        numbered[i] for i in ids
    ]


@pytest.mark.parametrize(("ends", "sample"), [([-(1 << 63), 5], 4), ([-3, 5], 4), ([10, 3, 5], 4), ([], 0)])
def test_ends_that_do_not_rise_give_no_sample_that_does_not_exist(ends: list[int], sample: int) -> None:
    try:
        shards, places, samples = _native.place_samples(np.array(ends, dtype=np.int64), np.array([sample]))
    except IndexError:
        return
    begin = ends[shards[places[0]] - 1] if shards[places[0]] else 0
    assert samples[0] == sample - begin >= 0


@pytest.mark.parametrize("sample", [-1, 3])
def test_samples_of_no_shard_are_refused(sample: int) -> None:
    with pytest.raises(IndexError):
        _native.place_samples(np.array([0, 3]), np.array([sample]))
