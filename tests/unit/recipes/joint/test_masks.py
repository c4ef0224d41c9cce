"""Masks against torchvision's own functionals."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision import tv_tensors
from torchvision.transforms.v2 import functional

from headrace import _native
from headrace.recipes.geometry import Flip, Geometry, RandomIoUCrop, RandomResizedCrop, Resize
from headrace.recipes.joint.masks import move_mask, move_masks, sources
from headrace.recipes.joint.placement import placement_of
from tests.encoded_images import allocate

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
    placement = placement_of(geometry, params)
    moved = move_masks(masks, placement, allocate)
    assert isinstance(moved, torch.Tensor)
    for row, (found, mask) in enumerate(zip(moved, masks, strict=True)):
        assert np.array_equal(found.numpy(), move_mask(mask.numpy(), placement, row))
    for found, mask, row in zip(moved, masks, params.tolist(), strict=True):
        expected = functional.resized_crop(tv_tensors.Mask(mask), *row[2:6], size=[23, 31])
        expected = functional.horizontal_flip(expected) if flip else expected
        assert found.dtype is dtype
        assert torch.equal(found, expected.as_subclass(torch.Tensor))


@pytest.mark.parametrize("size", [(23, 31), (20, 30), (90, 7)])
def test_masks_are_mirrored_before_they_are_resized(size):
    """Nearest neighbours have no symmetry."""
    rng = np.random.default_rng(0)
    masks = [torch.from_numpy(rng.integers(0, 100, (30, 40), np.uint8)) for _ in range(2)]
    params = np.array([[30, 40, 3, 5, 20, 30, 1, 1], [30, 40, 0, 0, 30, 40, 0, 1]], np.int32)
    geometry = Geometry(crop=RandomIoUCrop(scale=(0.3, 1), ratio=(0.5, 2), options=(0.5,), trials=40, op=0))
    for step in (Flip(probability=0.5, op=1), Resize(height=size[0], width=size[1], filter=2)):
        geometry = geometry.then(step)
    placement = placement_of(geometry, params)
    for row, (found, mask) in enumerate(zip(move_masks(masks, placement, allocate), masks, strict=True)):
        assert np.array_equal(found.numpy(), move_mask(mask.numpy(), placement, row))
        expected = functional.crop(tv_tensors.Mask(mask), *params[row, 2:6].tolist())
        expected = functional.horizontal_flip(expected) if params[row, 6] else expected
        assert torch.equal(found, functional.resize(expected, list(size)).as_subclass(torch.Tensor))


def test_masks_that_come_out_at_different_sizes_are_a_list():
    masks = [torch.ones(size, dtype=torch.uint8) for size in [(30, 40), (51, 17)]]
    params = np.array([[30, 40, 0, 0, 30, 40, 0, 1], [51, 17, 0, 0, 51, 17, 0, 1]], np.int32)
    moved = move_masks(masks, placement_of(Geometry(), params), allocate)
    assert [tuple(mask.shape) for mask in moved] == [(30, 40), (51, 17)]
    assert all(torch.equal(found, mask) for found, mask in zip(moved, masks, strict=True))


@pytest.mark.parametrize(
    "wrong",
    [
        {"crops": [[0, 0, 5, 4]]},
        {"crops": [[-1, 0, 4, 4]]},
        {"windows": [[0, 1, 3, 3]]},
        {"windows": [[0, 0, 3, 2]]},
        {"resized": [[3, 2**31]]},
        {"out": np.zeros((1, 3, 3), np.complex128)},
        {"flips": np.zeros(1, np.int64)},
    ],
)
def test_wrong_arguments_of_the_native_code_are_refused(wrong):
    mask = np.zeros((4, 4), np.uint8)
    arguments = {
        "addresses": np.array([mask.ctypes.data], np.uint64),
        "sizes": [[4, 4]],
        "crops": [[0, 0, 4, 4]],
        "resized": [[3, 3]],
        "windows": [[0, 0, 3, 3]],
        "flips": np.zeros(1, np.uint8),
        "out": np.zeros((1, 3, 3), np.uint8),
    }
    as_arrays = {name: np.array(value) if isinstance(value, list) else value for name, value in arguments.items()}
    _native.move_masks(**as_arrays)
    as_arrays |= {name: np.array(value) if isinstance(value, list) else value for name, value in wrong.items()}
    with pytest.raises(ValueError, match=r"must|too large"):
        _native.move_masks(**as_arrays)
