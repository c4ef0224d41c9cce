from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torchvision.transforms.functional import _compute_resized_output_size

from headrace.recipes.geometry import CenterCrop, Flip, Geometry, RandomCrop, RandomIoUCrop, RandomResizedCrop, Resize

RESIZE = Resize(height=20, width=0, filter=2)
EXACT = Resize(height=20, width=30, filter=2)
CENTER = CenterCrop(height=8, width=9)
RANDOM = RandomCrop(height=8, width=9, op=1)
RESIZED_CROP = RandomResizedCrop(height=8, width=9, scale=(0.1, 1), ratio=(0.5, 2), filter=2, op=1)
IOU_CROP = RandomIoUCrop(scale=(0.3, 1), ratio=(0.5, 2), options=(0.5, 1.0), trials=40, op=3)
FLIP = Flip(probability=0.5, op=2)


def after(*steps):
    geometry = Geometry()
    for step in steps:
        geometry = geometry.then(step)
        if isinstance(geometry, str):
            return geometry
    return geometry


@pytest.mark.parametrize(
    "steps",
    [
        (RESIZE,),
        (RESIZED_CROP, FLIP),
        (CENTER, FLIP),
        (RANDOM, FLIP),
        (EXACT, FLIP),
        (RESIZE, CENTER, FLIP),
        (RESIZE, RANDOM, FLIP),
        (FLIP,),
        (IOU_CROP,),
        (IOU_CROP, FLIP),
        (IOU_CROP, FLIP, EXACT),
        (IOU_CROP, EXACT, FLIP),
    ],
)
def test_one_pass(steps):
    assert isinstance(after(*steps), Geometry)


@pytest.mark.parametrize(
    "steps",
    [
        (FLIP, FLIP),
        (FLIP, CENTER),
        (FLIP, RESIZE),
        (RESIZE, RESIZE),
        (CENTER, RESIZE),
        (RESIZE, RESIZED_CROP),
        (CENTER, RANDOM),
        (RESIZED_CROP, CENTER),
        (RESIZE, IOU_CROP),
        (FLIP, IOU_CROP),
        (CENTER, IOU_CROP),
        (IOU_CROP, IOU_CROP),
        (IOU_CROP, RESIZE),
        (IOU_CROP, CENTER),
        (IOU_CROP, EXACT, EXACT),
        (IOU_CROP, EXACT, RANDOM),
        (IOU_CROP, FLIP, EXACT, FLIP),
    ],
)
def test_what_is_not_one_pass_says_why(steps):
    assert isinstance(after(*steps), str)


@pytest.mark.parametrize(
    ("steps", "size"),
    [
        ((), None),
        ((FLIP,), None),
        ((RESIZE,), None),
        ((EXACT,), (20, 30)),
        ((RESIZE, CENTER), (8, 9)),
        ((RESIZED_CROP,), (8, 9)),
    ],
)
def test_size_that_does_not_depend_on_the_image(steps, size):
    geometry = after(*steps)
    assert geometry.fixed_size == size
    assert geometry.output_size(100, 120) == (size or geometry.output_size(100, 120))


def test_nothing_is_empty():
    assert Geometry().is_empty
    assert not after(FLIP).is_empty
    assert Geometry().output_size(3, 4) == (3, 4)


@given(
    height=st.integers(1, 3000),
    width=st.integers(1, 3000),
    size=st.integers(1, 640),
    cap=st.one_of(st.just(0), st.integers(641, 900)),
)
def test_size_after_resize_is_torchvisions(height, width, size, cap):
    wanted = _compute_resized_output_size((height, width), [size], max_size=cap or None)
    assert Resize(height=size, width=0, max_size=cap, filter=2).output_size(height, width) == tuple(wanted)


def test_where_the_flip_of_a_crop_by_boxes_stands():
    assert after(IOU_CROP, FLIP, EXACT).flip_first
    assert not after(IOU_CROP, EXACT, FLIP).flip_first
    assert after(IOU_CROP, FLIP, EXACT).fixed_size == (20, 30)
    assert after(IOU_CROP).output_size(7, 9) == (7, 9)
    assert after(IOU_CROP).needs_boxes
    assert not after(RESIZED_CROP).needs_boxes
