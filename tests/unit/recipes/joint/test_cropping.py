"""What decides the crops of a batch, row by row as sizes become known."""

import numpy as np
import pytest
import torch

from headrace._base.hashing import sample_keys
from headrace.recipes.geometry import Flip, Geometry, RandomIoUCrop
from headrace.recipes.iou_crop_reference import iou_window
from headrace.recipes.joint import Member, SampleForm
from headrace.recipes.joint.cropping import NO_WINDOW, Cropping, croppings_of
from headrace.recipes.row_draws import RowDraws, output_sizes

STEP = RandomIoUCrop(scale=(0.3, 1), ratio=(0.5, 2), options=(0.1, 0.5, 1.0), trials=40, op=2)
KEYS = sample_keys(0, 0, np.arange(6))
SIZES = np.array([[40 + row, 60 - row] for row in range(6)])
BOXES = [torch.tensor([[5.0, 5, 30, 30], [20, 10, 50, 35]][: row % 3]).reshape(-1, 4) for row in range(6)]


def windows_of(row):
    return iou_window(STEP, int(KEYS[row]), tuple(SIZES[row].tolist()), BOXES[row].numpy())


def test_rows_may_be_decided_in_any_portions():
    together, apart = Cropping(STEP, KEYS, BOXES, "XYXY"), Cropping(STEP, KEYS, BOXES, "XYXY")
    windows = together.windows(np.arange(6), SIZES)
    for rows in ([4, 1], [3], [0, 5, 2]):
        assert np.array_equal(apart.windows(np.array(rows), SIZES[rows]), windows[rows])
    for one in (together, apart):
        assert one.found.all()
        assert one.cropped.tolist() == [windows_of(row) is not None for row in range(6)]
    assert windows.tolist() == [list(windows_of(row) or (0, 0, *SIZES[row].tolist())) for row in range(6)]


@pytest.mark.parametrize("wrong", [None, b"", torch.zeros(3), torch.zeros(2, 4, dtype=torch.int64), torch.zeros(2, 5)])
def test_rows_with_other_boxes_are_left_alone(wrong):
    cropping = Cropping(STEP, KEYS, [*BOXES[:3], wrong, *BOXES[4:]], "XYXY")
    windows = cropping.windows(np.arange(6), SIZES)
    assert cropping.found.tolist() == [True, True, True, False, True, True]
    assert tuple(windows[3].tolist()) == NO_WINDOW
    assert np.array_equal(
        np.delete(windows, 3, 0), np.delete(Cropping(STEP, KEYS, BOXES, "XYXY").windows(np.arange(6), SIZES), 3, 0)
    )


def test_rows_of_unknown_size_are_left_for_later():
    cropping, unknown = Cropping(STEP, KEYS, BOXES, "XYXY"), SIZES * (np.arange(6) != 2)[:, None]
    assert tuple(cropping.windows(np.arange(6), unknown)[2].tolist()) == NO_WINDOW
    assert not cropping.found[2]
    later = cropping.windows(np.array([2]), SIZES[2:3])
    assert cropping.found.all()
    assert later[0].tolist() == list(windows_of(2) or (0, 0, *SIZES[2].tolist()))


def test_a_batch_without_a_row_that_has_boxes():
    cropping = Cropping(STEP, KEYS, [None] * 6, "XYXY")
    assert cropping.windows(np.arange(6), SIZES).tolist() == [list(NO_WINDOW)] * 6
    assert not cropping.found.any()


def test_every_image_of_a_sample_has_a_decision_of_its_own():
    form = SampleForm(num_leaves=3, images=(0, 2), build=tuple, members={1: Member(kind="boxes", format="XYWH")})
    geometry = Geometry(crop=STEP, flip=Flip(probability=0.5, op=3))
    croppings = croppings_of(geometry, form, {1: BOXES}, KEYS)
    assert sorted(croppings) == [0, 2]
    assert croppings[0] is not croppings[2]
    assert croppings_of(Geometry(), form, {1: BOXES}, KEYS) == {}


def test_sizes_of_results_are_those_of_the_windows():
    geometry, draws = Geometry(crop=STEP), RowDraws(KEYS, Cropping(STEP, KEYS, BOXES, "XYXY"))
    windows = draws.windows(lambda: SIZES)
    assert windows is not None
    assert output_sizes(geometry, draws, SIZES) == [tuple(window[2:]) for window in windows.tolist()]
    some = draws.take(np.array([5, 1])).take(np.array([1]))
    assert output_sizes(geometry, some, SIZES[1:2]) == [tuple(windows[1, 2:].tolist())]
    assert output_sizes(Geometry(), RowDraws(KEYS), SIZES) == [tuple(size) for size in SIZES.tolist()]
