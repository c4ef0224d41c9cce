"""Our collation is torch's default collation, with other memory."""

from collections import OrderedDict, UserDict
from typing import NamedTuple

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.data import default_collate

from headrace.datasets.collate_rules import Rules
from headrace.datasets.collate_samples import collate_samples
from headrace.errors import CollateError


class Pair(NamedTuple):
    left: object
    right: object


NUMPY_TYPES = ["f4", "f8", "i8", "u1", "?", "f2", "i4", "c8", ">f4"]
SCALARS = [np.dtype(code).type for code in "?bhilqBHIQefdgFD"] + [np.str_, np.bytes_]
TORCH_TYPES = [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.float8_e4m3fn]
SHAPES = st.lists(st.integers(0, 4), max_size=3).map(tuple)


def array_maker(kind, shape):
    return lambda row: (np.arange(np.prod(shape, dtype=int)).reshape(shape) + row).astype(kind)


def tensor_maker(kind, shape, repeats):
    shape = (*shape, repeats)
    return lambda row: (torch.arange(int(np.prod(shape))).reshape(shape) % 7 + row).to(kind)


LEAVES = st.one_of(
    st.builds(array_maker, st.sampled_from(NUMPY_TYPES), SHAPES),
    st.builds(tensor_maker, st.sampled_from(TORCH_TYPES), SHAPES, st.sampled_from([0, 1, 3, 70_000])),
    st.sampled_from(
        [
            lambda row: row,
            lambda row: row / 3,
            lambda row: row % 2 == 0,
            lambda row: row if row % 2 else row / 2,
            lambda row: True if row else 3,
            lambda row: 2**63 - 1 - row,
            lambda row: f"text {row}",
            lambda row: bytes([row]),
            *SCALARS,
            lambda row: (np.int8, np.int64)[row % 2](row),
            lambda row: np.zeros((2, 3) if row else (3, 2), dtype=np.float32),
            lambda row: np.zeros(2 + row % 2, dtype=np.float32),
            lambda row: np.zeros([3] * (1 + row % 2)),
            lambda row: np.zeros([3] * (1 - row % 2)),
            lambda row: np.zeros(3, dtype=("i4", "i8")[row % 2]),
            torch.tensor,
            lambda row: torch.ones(2, 40_000, requires_grad=row == 1),
            lambda row: torch.ones(40_000, 2).t() * row,
        ]
    ),
)


def record(parts):
    names = [f"part {number}" for number in range(len(parts))]
    return lambda row: {name: part(row) for name, part in zip(names, parts, strict=True)}


SAMPLES = st.recursive(
    LEAVES,
    lambda parts: st.one_of(
        st.lists(parts, max_size=3).map(record),
        st.lists(parts, max_size=3).map(lambda inner: lambda row: tuple(part(row) for part in inner)),
        st.lists(parts, max_size=3).map(lambda inner: lambda row: [part(row) for part in inner]),
        st.lists(parts, min_size=1, max_size=3).map(lambda inner: lambda row: OrderedDict(record(inner)(row))),
        st.lists(parts, min_size=1, max_size=3).map(lambda inner: lambda row: UserDict(record(inner)(row))),
        st.tuples(parts, parts).map(lambda inner: lambda row: Pair(inner[0](row), inner[1](row))),
    ),
    max_leaves=4,
)


def same(ours, theirs):
    if isinstance(theirs, torch.Tensor):
        return (
            type(ours) is type(theirs)
            and (ours.dtype, ours.shape, ours.requires_grad) == (theirs.dtype, theirs.shape, theirs.requires_grad)
            and ours.reshape(-1).view(torch.uint8).tolist() == theirs.reshape(-1).view(torch.uint8).tolist()
        )
    if type(ours) is not type(theirs):
        return False
    if isinstance(theirs, (dict, UserDict)):
        return list(ours) == list(theirs) and all(same(ours[name], theirs[name]) for name in theirs)
    if isinstance(theirs, (list, tuple)):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return ours == theirs


@given(make=SAMPLES, num_rows=st.integers(1, 4))
def test_batches_are_those_of_default_collate(make, num_rows):
    try:
        theirs = default_collate([make(row) for row in range(num_rows)])
    except (TypeError, ValueError, RuntimeError, AttributeError):
        with pytest.raises(CollateError):
            collate_samples([make(row) for row in range(num_rows)], Rules(), np.empty)
        return
    assert same(collate_samples([make(row) for row in range(num_rows)], Rules(), np.empty), theirs)
