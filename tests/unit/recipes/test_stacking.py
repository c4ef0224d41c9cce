from __future__ import annotations

import pytest
import torch

from headrace.contracts import Fault
from headrace.errors import CollateError
from headrace.recipes.stacking import stack
from tests.encoded_images import allocate

FAULT = Fault(row=1, error=ValueError("x"))


def put(values, *, channels_last=False, ragged="refuse"):
    return stack(values, allocate, channels_last=channels_last, ragged=ragged)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [torch.uint8, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.bool])
def test_images_of_any_type(dtype, channels_last):
    values = [torch.randint(0, 2, (3, 4, 5)).to(dtype) for _ in range(3)]
    got = put(values, channels_last=channels_last).values
    assert torch.equal(got, torch.stack(values))
    assert got.dtype is dtype
    assert got.is_contiguous(memory_format=torch.channels_last if channels_last else torch.contiguous_format)


@pytest.mark.parametrize("shape", [(), (7,), (2, 3), (10, 3, 4, 5)])
def test_tensors_of_other_shapes_than_images(shape):
    values = [torch.rand(shape), torch.rand(shape)]
    assert torch.equal(put(values, channels_last=True).values, torch.stack(values))


def test_faulty_rows_are_zero():
    rows = put([torch.ones(3, 2, 2), FAULT, torch.ones(3, 2, 2)])
    assert rows.values.sum(dim=(1, 2, 3)).tolist() == [12, 0, 12]
    assert rows.faults == (FAULT,)


@pytest.mark.parametrize("other", [torch.ones(3, 2, 3), torch.ones(1, 2, 2), torch.ones(3, 2, 2, dtype=torch.uint8)])
def test_what_differs_is_refused_with_both_named(other):
    with pytest.raises(CollateError) as caught:
        put([torch.ones(3, 2, 2), FAULT, other])
    assert "(3, 2, 2) torch.float32" in str(caught.value)
    assert f"{tuple(other.shape)} {other.dtype}" in str(caught.value)
    assert "collate=" in str(caught.value)
    listed = put([torch.ones(3, 2, 2), FAULT, other], ragged="list").values
    assert listed[1] is None
    assert listed[2] is other


def test_anything_else_is_listed():
    assert put(["a", FAULT, {"b": 1}]).values == ["a", None, {"b": 1}]
    assert put([FAULT]).values == [None]
    assert put([]).values == []
