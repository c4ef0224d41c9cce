"""Masks against torchvision's own functionals."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional

from headrace.recipes.geometry import Flip, Geometry, RandomResizedCrop
from headrace.recipes.joint.masks import move_masks, sources
from headrace.recipes.joint.placement import placement_of

TYPES = [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float32]


@given(st.integers(1, 3000), st.integers(1, 3000))
def test_sources_are_those_of_torch(in_size, out_size):
    ramp = torch.arange(in_size, dtype=torch.float32)[None, None]
    expected = torch.nn.functional.interpolate(ramp, size=out_size, mode="nearest")[0, 0]
    assert sources(in_size, out_size).tolist() == expected.long().tolist()


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("flip", [0, 1])
def test_masks_of_every_type_are_cropped_resized_and_mirrored(dtype, flip):
    rng = np.random.default_rng(0)
    masks = [torch.from_numpy(rng.integers(0, 100, size)).to(dtype) for size in [(30, 40), (51, 17)]]
    step = RandomResizedCrop(height=23, width=31, scale=(0.1, 1), ratio=(1, 1), filter=2, op=0)
    params = np.array([[30, 40, 3, 5, 20, 30, flip, 1], [51, 17, 0, 0, 51, 17, flip, 1]], np.int32)
    geometry = Geometry(crop=step, flip=Flip(probability=0.5, op=1))
    moved = move_masks(masks, placement_of(geometry, params))
    assert isinstance(moved, torch.Tensor)
    for found, mask, row in zip(moved, masks, params.tolist(), strict=True):
        expected = functional.resized_crop(tv_tensors.Mask(mask), *row[2:6], size=[23, 31])
        expected = functional.horizontal_flip(expected) if flip else expected
        assert found.dtype is dtype
        assert torch.equal(found, expected.as_subclass(torch.Tensor))
