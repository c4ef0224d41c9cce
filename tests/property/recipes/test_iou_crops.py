"""RandomIoUCrop: the native decision, its reference, and torchvision's own code with the same numbers are one."""

from __future__ import annotations

from unittest import mock

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision import tv_tensors
from torchvision.transforms import v2

from headrace._base.hashing import sample_keys
from headrace.recipes import iou_crop_reference
from headrace.recipes.counted import counted
from headrace.recipes.iou_crop import centers_within, iou_crops
from headrace.recipes.iou_crop_reference import MOST_LOOKS, Numbers, iou_window, overlaps_enough
from headrace.recipes.randomness import sample_randomness
from headrace.recipes.recognise import iou_crop_rules

shares = st.floats(0.02, 1.0)
options = st.lists(st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 1.0]), min_size=0, max_size=3).map(
    lambda it: [*it, 1]
)
keys = st.integers(0, 2**64 - 1)
sizes = st.tuples(st.integers(1, 400), st.integers(1, 400))


@st.composite
def transforms(draw):
    scale, ratio = sorted([draw(shares), draw(shares)]), sorted([draw(shares) * 3, draw(shares) * 3])
    return v2.RandomIoUCrop(*scale, *ratio, draw(st.none() | options), draw(st.integers(0, 50)))


@st.composite
def boxes_of(draw, size, dtype=np.float32, least=0):
    """Boxes inside, across and outside of an image; flat, inverted and equal ones among them."""
    height, width = size
    edge = st.floats(-0.5, 1.5, width=32) | st.sampled_from([0.0, 0.5, 1.0])
    corners = draw(st.lists(st.tuples(edge, edge, edge, edge), min_size=least, max_size=5))
    return (np.array(corners, dtype=dtype).reshape(-1, 4) * [width, height, width, height]).astype(dtype)


@given(st.data(), transforms(), keys, sizes, st.sampled_from([np.float32, np.float64]))
def test_native_code_decides_as_the_reference(data, transform, key, size, dtype):
    rows = [data.draw(boxes_of(size, dtype)) for _ in range(data.draw(st.integers(1, 3)))]
    step = iou_crop_rules(transform, 5)
    row_keys = np.array([key ^ row for row in range(len(rows))], dtype=np.uint64)
    counts = np.array([len(boxes) for boxes in rows])
    crops = iou_crops(step, row_keys, np.array([size] * len(rows)), torch.from_numpy(np.concatenate(rows)), counts)
    assert crops.found.all()
    for row, boxes in enumerate(rows):
        window = iou_window(step, int(row_keys[row]), size, boxes)
        assert bool(crops.cropped[row]) is (window is not None)
        assert tuple(crops.windows[row].tolist()) == (window or (0, 0, *size))


class OurNumbers:
    """torch's functions of random numbers, giving those of a key."""

    def __init__(self, key, op):
        self.numbers = Numbers(key, op, 1 << 22)

    def rand(self, count):
        return torch.tensor([self.numbers.next() for _ in range(count)], dtype=torch.float64)

    def randint(self, low, high, size):
        return torch.tensor([low + int(self.numbers.next() * (high - low))]).reshape(size)


@given(
    st.data(),
    transforms(),
    keys,
    st.tuples(st.integers(60, 400), st.integers(60, 400)),
    st.sampled_from(["XYXY", "XYWH", "CXCYWH"]),
)
def test_torchvision_decides_alike_with_the_same_numbers(data, transform, key, size, format_):
    corners = torch.from_numpy(data.draw(boxes_of(size, least=1)))
    values = v2.functional.convert_bounding_box_format(
        corners, tv_tensors.BoundingBoxFormat.XYXY, getattr(tv_tensors.BoundingBoxFormat, format_)
    )
    boxes = tv_tensors.BoundingBoxes(values, format=format_, canvas_size=size)
    flat = [tv_tensors.Image(torch.zeros(3, *size, dtype=torch.uint8)), boxes]
    ours = OurNumbers(key, 3)
    with mock.patch.object(torch, "rand", ours.rand), mock.patch.object(torch, "randint", ours.randint):
        expected = transform.make_params(flat)
    with sample_randomness(key):
        found = counted(transform, 3).make_params(flat)
    assert found.keys() == expected.keys()
    for name in expected:
        assert torch.equal(torch.as_tensor(found[name]), torch.as_tensor(expected[name])), name


def test_the_distribution_is_that_of_torchvision():
    """Sizes, places and overlaps of 3,000 crops of the same boxes; quantiles a few standard errors apart at most."""
    size, num = (300, 400), 3000
    boxes = tv_tensors.BoundingBoxes([[20, 30, 120, 130], [200, 100, 390, 290]], format="XYXY", canvas_size=size)
    flat = [tv_tensors.Image(torch.zeros(3, *size, dtype=torch.uint8)), boxes]
    transform = v2.RandomIoUCrop()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        theirs = [transform.make_params(flat) for _ in range(num)]
    twin, ours = counted(transform, 0), []
    for key in sample_keys(0, 0, np.arange(num)).tolist():
        with sample_randomness(key):
            ours.append(twin.make_params(flat))
    cut = [[one for one in many if one] for many in (theirs, ours)]
    assert abs(len(cut[0]) - len(cut[1])) < 0.05 * num
    for name in ("top", "left", "height", "width"):
        quantiles = [np.quantile([one[name] for one in many], [0.1, 0.3, 0.5, 0.7, 0.9]) for many in cut]
        assert np.abs(quantiles[0] - quantiles[1]).max() < 0.05 * max(size), name
    within = [np.mean([one["is_within_crop_area"].tolist() for one in many], axis=0) for many in cut]
    assert np.abs(within[0] - within[1]).max() < 0.05


@pytest.mark.parametrize("corners", [[], [[500, 500, 600, 600]], [[10, 10, 11, 11]]])
def test_a_search_without_an_end_ends(corners):
    """Where no crop can overlap enough and nothing leaves the sample as it is."""
    flat = [
        tv_tensors.Image(torch.zeros(3, 50, 60, dtype=torch.uint8)),
        tv_tensors.BoundingBoxes(torch.tensor(corners).reshape(-1, 4), format="XYXY", canvas_size=(50, 60)),
    ]
    with sample_randomness(1), pytest.raises(ValueError, match="sampler_options"):
        counted(v2.RandomIoUCrop(sampler_options=[0.9, 0.95]), 0).make_params(flat)


@pytest.mark.parametrize("most", range(12))
def test_numbers_that_run_out(most):
    step = iou_crop_rules(v2.RandomIoUCrop(sampler_options=[0.95], trials=2), 0)
    with pytest.raises(LookupError):
        iou_window(step, 7, (50, 60), np.array([[500, 500, 600, 600]], np.float32), most)


def test_a_search_among_very_many_boxes_ends_too():
    """What one box is looked at n times for is not found where others let these be more looks than are allowed."""
    step = iou_crop_rules(v2.RandomIoUCrop(sampler_options=[0.95]), 0)
    size, box = (50, 60), np.array([[5, 5, 40, 45]], np.float32)
    with mock.patch.object(iou_crop_reference, "overlaps_enough", wraps=overlaps_enough) as looks:
        window = iou_window(step, 0, size, box)
    num_looks = looks.call_count
    assert iou_window(step, 0, size, box, most_looks=num_looks) == window
    with pytest.raises(LookupError):
        iou_window(step, 0, size, box, most_looks=num_looks - 1)
    for num_boxes, is_found in ((MOST_LOOKS // num_looks, True), (MOST_LOOKS // num_looks + 1, False)):
        flat = np.full((num_boxes - 1, 4), 20, np.float32)
        boxes = torch.from_numpy(np.concatenate([flat, box]))
        crops = iou_crops(step, np.array([0], np.uint64), np.array([size]), boxes, np.array([num_boxes]))
        assert crops.found.tolist() == [is_found]


def test_centres_on_the_border_are_outside():
    corners = torch.tensor([[10.0, 10, 30, 30], [0, 0, 20, 20], [10, 10, 31, 31]])
    assert centers_within(corners, (20, 20, 5, 5)).tolist() == [False, False, True]
