from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace.recipes.tensors import allocate_target, as_tensor, delivered, image_of, pil_pixels
from tests.encoded_images import allocate, photograph


@pytest.mark.parametrize(
    "dtype", [torch.uint8, torch.bfloat16, torch.float16, torch.float32, torch.int32, torch.float64]
)
@pytest.mark.parametrize("channels_last", [False, True])
def test_tensor_and_memory_are_the_same(dtype, channels_last):
    target = allocate_target(allocate, (2, 3, 4, 5), dtype, channels_last=channels_last)
    assert target.tensor.shape == (2, 3, 4, 5)
    assert target.tensor.dtype is dtype
    target.raw[...] = 0
    assert not target.tensor.any()
    target.tensor[1, 2, 3, 4] = 1
    assert np.count_nonzero(target.raw[1]) == 1
    assert target.raw.flags.c_contiguous


def test_storage_keeps_the_memory_alive():
    class Owned(np.ndarray):
        pass

    memory = np.zeros((1, 2, 2, 3), np.uint16).view(Owned)
    alive = weakref.ref(memory)
    storage = as_tensor(memory, torch.bfloat16, channels_last=True)[0, 1].detach().untyped_storage()
    del memory
    gc.collect()
    assert alive() is not None
    del storage
    gc.collect()
    assert alive() is None


def test_pixels_are_the_images_own_and_writable():
    image = photograph(4, 6)
    pixels = pil_pixels(image)
    assert pixels.shape == (4, 6, 3)
    before = image.tobytes()
    pixels[...] = 0
    assert image.tobytes() == before
    assert pil_pixels(image.convert("L")).shape == (4, 6, 1)


def test_image_of_every_form():
    pixels = pil_pixels(photograph(4, 6))
    assert isinstance(image_of(pixels, "pil"), Image.Image)
    assert type(image_of(pixels, "image")) is tv_tensors.Image
    assert type(image_of(pixels, "tensor")) is torch.Tensor
    assert torch.equal(image_of(pixels, "tensor"), v2.functional.pil_to_tensor(image_of(pixels, "pil")))


def test_what_is_delivered():
    image = photograph(4, 6)
    as_image = v2.ToImage()(image)
    for value in (image, as_image):
        got = delivered(value)
        assert type(got) is torch.Tensor
        assert torch.equal(got, as_image.as_subclass(torch.Tensor))
        assert got.stride() == as_image.stride()
    assert delivered("anything") == "anything"
