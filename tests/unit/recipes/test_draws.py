from __future__ import annotations

import numpy as np
import pytest
import torch
from torchvision.transforms import functional, v2

from headrace._base.hashing import sample_keys
from headrace.recipes import draws

RATIO = (3 / 4, 4 / 3)
SCALE = (0.08, 1.0)
NUM = 4000
KEYS = sample_keys(0, 0, np.arange(NUM))


def sides(height: int, width: int, num: int = NUM) -> tuple[np.ndarray, np.ndarray]:
    return np.full(num, height, np.int32), np.full(num, width, np.int32)


def test_boxes_lie_inside_and_have_allowed_shapes():
    boxes = draws.random_resized_crop_boxes(KEYS, *sides(375, 500), SCALE, RATIO, 0)
    top, left, height, width = boxes.T
    assert (boxes >= [0, 0, 1, 1]).all()
    assert (top + height <= 375).all()
    assert (left + width <= 500).all()
    assert ((width + 0.5) / (height - 0.5) >= RATIO[0]).all()
    assert ((width - 0.5) / (height + 0.5) <= RATIO[1]).all()


def test_boxes_are_distributed_as_torchvisions():
    torch.manual_seed(0)
    transform = v2.RandomResizedCrop(8)
    image = torch.empty(3, 375, 500, dtype=torch.uint8)
    params = [transform.make_params([image]) for _ in range(NUM)]
    theirs = np.array([[p["top"], p["left"], p["height"], p["width"]] for p in params])
    ours = draws.random_resized_crop_boxes(KEYS, *sides(375, 500), SCALE, RATIO, 0)
    for quantity in range(4):
        grid = np.linspace(0, 500, 101)
        shares = [np.searchsorted(np.sort(boxes[:, quantity]), grid) / NUM for boxes in (ours, theirs)]
        # Kolmogorov and Smirnov: two samples of one distribution differ by more than this once in 10,000 times
        assert np.abs(shares[0] - shares[1]).max() < 2.23 * np.sqrt(2 / NUM)


@pytest.mark.parametrize(("height", "width"), [(10, 1000), (1000, 10), (7, 3), (3, 3)])
def test_the_fallback_is_torchvisions(height, width):
    # no box of the image's own area has an allowed shape here, or only the image itself
    scale = (1.0, 1.0) if height != width else (2.0, 2.0)
    params = v2.RandomResizedCrop(8, scale=scale).make_params([torch.empty(3, height, width)])
    boxes = draws.random_resized_crop_boxes(KEYS[:5], *sides(height, width, 5), scale, RATIO, 0)
    assert boxes.tolist() == [[params["top"], params["left"], params["height"], params["width"]]] * 5


@pytest.mark.parametrize(("size", "cap"), [(256, 0), (256, 300), (7, 0), (500, 501)])
def test_resized_sizes_are_torchvisions(size, cap):
    generator = np.random.default_rng(0)
    heights, widths = generator.integers(1, 900, (2, 300)).astype(np.int32)
    ours = np.stack(draws.resized_sizes(heights, widths, size, 0, cap), axis=1)
    theirs = [
        functional._compute_resized_output_size((int(height), int(width)), [size], cap or None)
        for height, width in zip(heights, widths, strict=True)
    ]
    np.testing.assert_array_equal(ours, theirs)


def test_center_boxes_are_torchvisions():
    rows = torch.arange(40 * 50, dtype=torch.int32).reshape(1, 40, 50)
    for height, width in [(1, 1), (7, 8), (8, 7), (39, 49), (40, 50)]:
        top, left = draws.center_crop_boxes(*sides(40, 50, 1), (height, width))[0, :2]
        cropped = v2.functional.center_crop(rows, [height, width])
        assert cropped[0, 0, 0] == rows[0, top, left]


def test_random_crops_reach_every_place():
    boxes = draws.random_crop_boxes(KEYS, *sides(10, 12), (8, 8), 3)
    places, counts = np.unique(boxes[:, :2], axis=0, return_counts=True)
    assert len(places) == 3 * 5
    assert counts.min() > 0.7 * NUM / 15
    assert (boxes[:, 2:] == 8).all()


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_flips_come_as_often_as_asked(probability):
    assert draws.flips(KEYS, probability, 2).mean() == pytest.approx(probability, abs=0.03)


def test_ops_draw_independently():
    first, second = (draws.flips(KEYS, 0.5, op) for op in (0, 1))
    assert (first == second).mean() == pytest.approx(0.5, abs=0.03)


def test_the_numbers_do_not_change():
    boxes = draws.random_resized_crop_boxes(KEYS[:3], *sides(375, 500, 3), SCALE, RATIO, 1)
    assert boxes.tolist() == [[10, 122, 231, 299], [4, 2, 349, 403], [11, 79, 305, 366]]
