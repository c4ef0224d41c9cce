"""Twins of transforms for detection: torchvision's own code with the same numbers gives the same samples."""

from __future__ import annotations

from unittest import mock

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace.recipes.counted import counted
from headrace.recipes.iou_crop_reference import Numbers
from headrace.recipes.randomness import sample_randomness

TRANSFORMS = {
    "zoom out": v2.RandomZoomOut(fill={tv_tensors.Image: 127, "others": 0}, p=0.7),
    "zoom out always": v2.RandomZoomOut(side_range=(1.2, 1.5), p=1.0),
    "zoom out never": v2.RandomZoomOut(p=0.0),
    "scale jitter": v2.ScaleJitter((60, 50)),
    "shortest size": v2.RandomShortestSize([20, 30, 47], max_size=60),
    "one shortest size": v2.RandomShortestSize(33),
}


class OurNumbers:
    """torch's functions of random numbers, giving those of a key."""

    def __init__(self, key, op):
        self.numbers = Numbers(key, op, 1 << 22)

    def rand(self, count):
        return torch.tensor([self.numbers.next() for _ in range(count)], dtype=torch.float64)

    def randint(self, high, size):
        return torch.tensor(int(self.numbers.next() * high)).reshape(size)


def sample_of(height, width):
    image = (torch.arange(3 * height * width).reshape(3, height, width) % 251).to(torch.uint8)
    boxes = torch.tensor([[1.0, 2, 10, 12], [0, 0, width, height]])
    return {
        "image": tv_tensors.Image(image),
        "mask": tv_tensors.Mask(image[0].clone()),
        "boxes": tv_tensors.BoundingBoxes(boxes, format="XYXY", canvas_size=(height, width)),
        "labels": torch.tensor([3, 4]),
    }


@given(st.sampled_from(sorted(TRANSFORMS)), st.integers(0, 2**64 - 1), st.integers(15, 90), st.integers(15, 90))
def test_torchvision_makes_the_same_of_the_same_numbers(name, key, height, width):
    transform, ours = TRANSFORMS[name], OurNumbers(key, 2)
    with mock.patch.object(torch, "rand", ours.rand), mock.patch.object(torch, "randint", ours.randint):
        expected = transform(sample_of(height, width))
    with sample_randomness(key):
        found = counted(transform, 2)(sample_of(height, width))
    assert found.keys() == expected.keys()
    for leaf, value in expected.items():
        assert type(found[leaf]) is type(value)
        assert torch.equal(found[leaf], value), leaf


@pytest.mark.parametrize("name", sorted(TRANSFORMS))
def test_torchs_generator_is_left_alone(name):
    state = torch.get_rng_state()
    with sample_randomness(5):
        counted(TRANSFORMS[name], 0)(sample_of(40, 50))
    assert torch.equal(torch.get_rng_state(), state)
