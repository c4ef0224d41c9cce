from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

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
