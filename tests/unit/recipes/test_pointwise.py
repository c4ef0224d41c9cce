from __future__ import annotations

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace.recipes.op import Op
from headrace.recipes.pointwise import advance, form_of, ramp, table_of


def run(*calls, start="pil"):
    value, refusal = ramp(start), None
    for call in calls:
        value, refusal = advance(value, Op(position=0, call=call, run=call))
    return value, refusal


def test_ramp_has_every_value_in_every_channel():
    assert np.asarray(ramp("pil")).shape == (1, 256, 3)
    assert (ramp("tensor")[:, 0] == torch.arange(256)).all()


def test_pil_image_has_no_table():
    assert table_of(ramp("pil")) is None


def test_conversion_alone_is_the_identity():
    table = table_of(run(v2.ToImage())[0])
    assert table.is_identity
    assert table.channels_last
    assert table.values.dtype == np.uint8


def test_floats_are_kept_to_the_bit():
    table = table_of(run(v1.ToTensor(), v1.Normalize([0.1, 0.2, 0.3], [0.4, 0.5, 0.6]))[0])
    assert table.dtype is torch.float32
    assert not table.channels_last
    wanted = (torch.tensor(77.0) / 255 - 0.2) / 0.5
    assert table.values.view(np.float32)[1, 77] == wanted.item()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.int16, torch.int32, torch.uint8])
def test_types_of_one_two_and_four_bytes(dtype):
    table = table_of(run(v2.ToImage(), v2.ToDtype(dtype))[0])
    assert table.dtype is dtype
    assert table.values.dtype.itemsize == dtype.itemsize
    assert (
        torch.from_numpy(table.values.view(f"i{dtype.itemsize}" if dtype.itemsize > 1 else np.uint8)).view(dtype)[2, 9]
        == 9
    )


def test_refused_op_leaves_the_ramp_as_it_was():
    value, refusal = run(v1.ToTensor(), v1.Normalize([0.1, 0.2, 0.3, 0.4], [1.0] * 4))
    assert refusal
    assert torch.equal(value, v1.ToTensor()(ramp("pil")))


def test_inplace_op_does_not_change_the_ramp_before_it():
    before = v1.ToTensor()(ramp("pil"))
    advance(before, Op(position=0, call=v1.Normalize([0.5] * 3, [0.5] * 3, inplace=True), run=None))
    assert torch.equal(before, v1.ToTensor()(ramp("pil")))


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (Image.new("RGB", (1, 1)), "pil"),
        (tv_tensors.Image(torch.zeros(3, 1, 1)), "image"),
        (torch.zeros(3, 1, 1), "tensor"),
    ],
)
def test_form(value, form):
    assert form_of(value) == form
