"""A SharedList is the list it was made from, and a SharedDict the dict, whatever the items are."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headrace import SharedDict, SharedList
from headrace.datasets.shared import pack_items as packing

TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=8)  # lone surrogates too
NUMBERS = st.integers() | st.floats() | st.booleans()
ATOMS = st.none() | TEXT | st.binary(max_size=8) | NUMBERS
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3) | st.tuples(inner, inner) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
ALIKE = st.one_of(
    st.lists(TEXT),
    st.lists(st.binary(max_size=8)),
    st.lists(st.integers(-(2**63), 2**63 - 1)),
    st.lists(st.integers(-200, 200)),
    st.lists(st.floats()),
    st.lists(st.booleans()),
    st.lists(st.tuples(TEXT, st.integers())),
    st.lists(st.lists(st.floats(), min_size=4, max_size=4)),
    st.lists(st.fixed_dictionaries({"path": TEXT, "box": st.tuples(NUMBERS, NUMBERS), "note": st.none() | TEXT})),
)
LISTS = ALIKE | st.lists(VALUES)
SLICES = st.builds(slice, *[st.none() | st.integers(-12, 12)] * 2, st.none() | st.integers(-3, 3).filter(bool))


def same(one, other):
    """Equal in type too, and NaN is NaN."""
    if type(one) is not type(other):
        return False
    if isinstance(one, float) and math.isnan(one):
        return math.isnan(other)
    if isinstance(one, float) and one == 0:
        return one == other and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return one == other


@given(items=LISTS, chunk=st.integers(1, 5))
def test_items_read_back_the_same(items, chunk):
    """With small chunks, so that kinds change between chunks: what was packed before falls back with the rest."""
    before, packing.CHUNK = packing.CHUNK, chunk
    try:
        shared = SharedList(iter(items))
    finally:
        packing.CHUNK = before
    assert len(shared) == len(items)
    assert same(list(shared), items)
    assert same([shared[at] for at in range(len(items))], items)
    assert same([shared[at - len(items)] for at in range(len(items))], items)


@given(items=LISTS, part=SLICES, again=SLICES)
def test_slices_and_their_slices(items, part, again):
    shared = SharedList(items)
    assert same(list(shared[part]), items[part])
    assert same(list(shared[part][again]), items[part][again])
    assert same(list(reversed(shared[part])), items[part][::-1])


@given(items=LISTS.filter(bool), part=SLICES, data=st.data())
def test_take_is_many_single_looks(items, part, data):
    shared = SharedList(items)[part]
    ids = data.draw(st.lists(st.integers(-len(shared), len(shared) - 1))) if len(shared) else []
    assert same(shared.take(ids), [shared[at] for at in ids])
    assert same(shared.take(np.array(ids, dtype=np.int32)), [shared[at] for at in ids])


@given(items=st.dictionaries(TEXT, VALUES) | st.dictionaries(TEXT, st.integers()), others=st.lists(TEXT))
def test_dicts_read_back_the_same(items, others):
    shared = SharedDict(items)
    assert len(shared) == len(items)
    assert list(shared) == list(items)
    assert same({key: shared[key] for key in items}, items)
    assert same(dict(shared.items()), items)
    assert same(list(shared.values()), list(items.values()))
    assert same(shared.take(items), list(items.values()))
    assert [key in shared for key in others] == [key in items for key in others]


@given(
    dtype=st.sampled_from(["?", "u1", "<i2", ">i4", "f4", "f8", "c8", "M8[s]", "S3", "U2"]),
    shape=st.lists(st.integers(0, 3), max_size=3).map(tuple),
    num=st.integers(1, 6),
)
def test_arrays_read_back_the_same(dtype, shape, num):
    size = math.prod(shape)
    items = [np.arange(at * size, (at + 1) * size).reshape(shape).astype(dtype) for at in range(num)]
    shared = SharedList(items)
    assert shared.layout == f"{np.dtype(dtype).name}{list(shape)}"
    for one, other in zip([*shared, *shared.take(range(num))], items * 2, strict=True):
        assert type(one) is np.ndarray
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        assert one.tobytes() == other.tobytes()
