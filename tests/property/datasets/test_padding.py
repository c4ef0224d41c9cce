"""Padding all rows at once gives what padding row by row gives."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from headrace.datasets.padding import Pad, fill_at_once, fill_row_by_row, pad

DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
]


def rows_of(lengths, dtype, step):
    """Tensors of these lengths; with a step of 2 their numbers do not lie side by side."""
    noise = torch.Generator().manual_seed(sum(lengths))
    return [(torch.rand(step * length, generator=noise) * 100).to(dtype)[::step] for length in lengths]


@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    dtype=st.sampled_from(DTYPES),
    step=st.sampled_from([1, 2]),
    extra=st.integers(0, 3),
)
def test_at_once_equals_row_by_row(lengths, dtype, step, extra):
    rows, shape = rows_of(lengths, dtype, step), (len(lengths), max(lengths) + extra)
    expected, found = torch.full(shape, 7).to(dtype), torch.full(shape, 7).to(dtype)
    fill_row_by_row(expected, rows)
    assert fill_at_once(found, rows)
    assert torch.equal(found, expected)


@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=12),
    multiple_of=st.integers(1, 4),
    max_length=st.none() | st.integers(1, 8),
)
def test_the_rule_holds_for_rows_that_are_filled_at_once(lengths, multiple_of, max_length):
    rule = Pad(value=-1, multiple_of=multiple_of, max_length=max_length, lengths=True)
    rows = rows_of(lengths, torch.int64, 1)
    padded, told = pad(rows, rule, np.empty)
    assert told.tolist() == [min(length, max_length or length) for length in lengths]
    assert padded.shape[1] == -(-max(told.tolist()) // multiple_of) * multiple_of
    for row, tensor, length in zip(padded, rows, told.tolist(), strict=True):
        assert row[:length].tolist() == tensor[:length].tolist()
        assert row[length:].tolist() == [-1] * (padded.shape[1] - length)


class Own(torch.Tensor):
    """A subclass."""


@pytest.mark.parametrize(
    "tensor",
    [
        torch.ones(3, requires_grad=True),
        torch.ones(3).as_subclass(Own),
        torch.ones(3, device="meta"),
        torch.ones(3, dtype=torch.complex128),
    ],
    ids=["autograd", "subclass", "device", "size"],
)
def test_what_is_left_to_the_reference(tensor):
    assert not fill_at_once(torch.zeros(1, 3, dtype=tensor.dtype), [tensor])
