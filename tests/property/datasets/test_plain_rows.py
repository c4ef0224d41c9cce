"""Plain samples and small values are taken apart and joined in native code, as the general ways do it or not at all."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.utils.data import default_collate

from headrace import _native
from headrace.datasets.collate_rules import Rules
from headrace.datasets.collate_samples import collate_samples
from headrace.datasets.stacking import JOINED_BELOW_BYTES, concatenate
from headrace.datasets.structure import LEAVES, columns, columns_of_any, part_names, part_names_of_any
from headrace.errors import CollateError


class Pair(NamedTuple):
    left: object
    right: object


class Grid(np.ndarray):
    pass


class Two(tuple):
    __slots__ = ()


LAYOUTS = {
    "in one piece": lambda array: array,
    "every second": lambda array: np.repeat(array, 2, axis=-1)[..., ::2] if array.ndim else array,
    "backwards": lambda array: array[::-1] if array.ndim else array,
    "transposed": lambda array: array.T,
    "columns first": np.asfortranarray,
    "stretched": lambda array: np.broadcast_to(array[..., :1], array.shape) if array.ndim else array,
    "swapped bytes": lambda array: array.astype(array.dtype.newbyteorder()),
    "a subclass": lambda array: array.view(Grid),
    "masked": np.ma.masked_array,
    "a scalar": lambda array: array.reshape(-1)[0] if array.size else array,
    "without a shape": lambda array: np.array(array.reshape(-1)[0]) if array.size else array,
    "a list": lambda array: array.tolist(),
}
CODES = [*"?bhilqBHILefdFD", "g", "M8[s]", "m8[ms]", "U3", "S2", "O", "V4", "f4,i2"]
"""All kinds of dtypes; "l" and "q" are two of 64 bits on most machines."""
SHAPES = [(), (0,), (1,), (3,), (2, 3), (3, 2), (2, 2), (0, 2), (2, 0), (2, 1, 2), (JOINED_BELOW_BYTES,)]


@st.composite
def arrays(draw, codes, shapes, layouts):
    shape, code = draw(shapes), draw(codes)
    array = np.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 100 + draw(st.integers(0, 9)))
    array = array.astype("i4").view("V4") if code == "V4" else array.astype(code)
    return LAYOUTS[draw(layouts)](array)


@st.composite
def rows_of_arrays(draw):
    """Mostly alike: one row of another dtype, shape or layout is what a fast way may overlook."""
    alike = st.just(draw(st.sampled_from(CODES))), st.just(draw(st.sampled_from(SHAPES)))
    layout = st.just(draw(st.sampled_from(list(LAYOUTS))))
    rows = draw(st.lists(arrays(*alike, layout), min_size=1, max_size=4))
    if draw(st.booleans()):
        odd = [st.sampled_from(CODES), st.sampled_from(SHAPES), st.sampled_from(list(LAYOUTS))]
        own = draw(st.integers(0, 2))
        kinds = [odd[number] if number == own else one for number, one in enumerate((*alike, layout))]
        rows.insert(draw(st.integers(0, len(rows))), draw(arrays(*kinds)))
    return rows


def outcome(make):
    """A tensor as what can be compared; any refusal is one."""
    try:
        batch = make()
    except (TypeError, ValueError, RuntimeError, AttributeError, CollateError):
        return "refused"
    if not isinstance(batch, torch.Tensor):
        return repr(batch)
    return batch.dtype, tuple(batch.shape), batch.reshape(-1).view(torch.uint8).tolist()


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@given(rows=rows_of_arrays())
def test_rows_of_numpy_become_what_torch_makes_of_them(rows):
    # torch refuses what goes backwards; ours takes it.
    assume(all(min(row.strides, default=0) >= 0 for row in rows if isinstance(row, np.ndarray)))
    assert outcome(lambda: collate_samples(rows, Rules(), np.empty)) == outcome(lambda: default_collate(rows))


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")
@given(rows=rows_of_arrays())
def test_joined_arrays_are_concatenated_ones(rows):
    if not all(isinstance(row, (np.ndarray, np.generic)) and not row.dtype.hasobject for row in rows):
        return
    content = _native.joined_content(rows)
    if content is not None:
        assert len({(type(row), row.shape, row.dtype) for row in rows}) == 1
        assert bytes(content) == b"".join(row.tobytes() for row in rows)
    elif len({(type(row), row.shape, row.dtype.str, row.dtype.char) for row in rows}) == 1:
        plain = rows[0].dtype.kind in "iufbc" and rows[0].dtype.isnative
        assert not plain or not all(row.flags.c_contiguous for row in rows)
    if content is not None and type(rows[0]) is np.ndarray and rows[0].ndim and rows[0].dtype.kind in "iufbc":
        shape = (len(rows), *rows[0].shape)
        joined = outcome(lambda: torch.from_numpy(np.frombuffer(content, rows[0].dtype).reshape(shape)))
        assert joined == outcome(lambda: concatenate(rows, shape, np.empty))


PARTS = st.integers() | st.text(max_size=2) | st.none()
SAMPLE = st.one_of(
    st.lists(PARTS, max_size=3).map(tuple),
    st.lists(PARTS, max_size=3),
    st.lists(PARTS, max_size=3).map(Two),
    st.tuples(PARTS, PARTS).map(lambda parts: Pair(*parts)),
    st.dictionaries(st.integers(0, 2), PARTS),
    st.text(max_size=3),
)


@given(samples=st.lists(st.lists(PARTS, min_size=2, max_size=2).map(tuple), min_size=1) | st.lists(SAMPLE, min_size=1))
def test_plain_tuples_are_taken_apart_as_any_samples(samples):
    names = part_names(samples[0])
    if names is None:
        return

    def attempt(take_apart):
        try:
            return [tuple(column) for column in take_apart(samples, names)]
        except (TypeError, ValueError, KeyError, IndexError) as error:
            return type(error)

    assert attempt(columns) == attempt(columns_of_any)
    plain = _native.tuple_columns(samples, len(names))
    assert (plain is not None) == all(type(sample) is tuple and len(sample) == len(names) for sample in samples)


def test_parts_live_as_long_as_somebody_holds_them():
    samples = [(np.full(3, row), object()) for row in range(1000)]
    arrays, others = _native.tuple_columns(samples, 2)
    again = _native.tuple_columns(tuple(samples), 2)
    del samples
    assert [array[0] for array in arrays] == list(range(1000))
    assert all(one is other for one, other in zip(others, again[1], strict=True))
    del again
    assert len(set(map(id, others))) == 1000


@pytest.mark.parametrize(
    "values", [{}, {1: 2}, "text", range(3), np.arange(3), [1, 2], [(1, 2), [1, 2]], [(1, 2), (1,)]], ids=repr
)
def test_what_is_no_list_of_plain_tuples_is_left_to_python(values):
    assert _native.tuple_columns(values, 2) is None


@pytest.mark.parametrize("values", [[], (), {}, {1: 2}, "text", range(3), np.arange(3)], ids=repr)
def test_what_is_no_list_of_values_is_left_to_python(values):
    assert _native.joined_content(values) is None


@pytest.mark.parametrize(
    "values",
    [[1, 2], ["a"], (None,), [object()], [np.float64(1), 2][1:]],
    ids=["ints", "texts", "none", "object", "part of a list"],
)
def test_values_without_content_are_refused(values):
    with pytest.raises(TypeError, match="bytes-like"):
        _native.joined_content(values)


@pytest.mark.parametrize("kind", sorted(LEAVES, key=str))
def test_plain_types_have_no_parts_by_the_general_way_either(kind):
    if kind is torch.Tensor or kind is np.ndarray:
        value = kind((2,)) if kind is np.ndarray else torch.zeros(2)
    elif kind is np.void:
        value = np.zeros(1, "f4,i2")[0]
    else:
        value = kind() if kind is not np.object_ else None
    assert part_names(value) is None
    assert part_names_of_any(value) is None


@given(sample=SAMPLE)
def test_parts_of_plain_samples_are_those_of_any(sample):
    assert part_names(sample) == part_names_of_any(sample)
    assert isinstance(sample, (Sequence, dict))
