import numpy as np
import pytest
import torch

from headrace.datasets.coordinates import boxes, keypoints
from headrace.errors import DecodeError

ROWS = [[1, 2, 3.5, 4], [5, 6, 7, 8]]


@pytest.mark.parametrize(
    "value",
    [
        ROWS,
        tuple(map(tuple, ROWS)),
        np.array(ROWS),
        np.array(ROWS, dtype=">f4"),
        torch.tensor(ROWS),
        [np.array(row) for row in ROWS],
    ],
)
def test_boxes_are_float32_of_four(value):
    found = boxes(value)
    assert found.dtype is torch.float32
    assert found.tolist() == ROWS


def test_whole_numbers_and_one_box():
    assert boxes([[1, 2, 3, 4]]).tolist() == [[1, 2, 3, 4]]
    assert boxes([1, 2, 3, 4]).shape == (1, 4)


@pytest.mark.parametrize("value", [[], (), np.zeros((0, 4)), np.zeros(0), torch.zeros(0, 4, dtype=torch.int64)])
def test_no_boxes_have_a_shape_too(value):
    assert boxes(value).shape == (0, 4)
    assert boxes(value).dtype is torch.float32


def test_the_memory_is_not_the_array_s():
    given = np.ones((1, 4), dtype=np.float32)
    boxes(given)[0, 0] = 9
    keypoints(given.reshape(2, 2))[0, 0] = 9
    assert given.max() == 1


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([[1, 2, 3]], r"fault is at \[0\].*\[1, 2, 3\]"),
        ([[1, 2, 3, 4], [1, 2, 3, 4, 5]], r"fault is at \[1\]"),
        ([1, 2, 3, 4, 5], r"got \[1, 2, 3, 4, 5\]"),
        ([[1, 2, 3, 4], ["1", "2", "3", "4"]], r"fault is at \[1\].*'1'"),
        (["a", "b", "c", "d"], r"got \['a'"),
        ([[1, 2, None, 4]], r"\[0\].*None"),
        ([[1, 2, float("nan"), 4]], r"\[0\].*nan"),
        ([[1, 2, float("inf"), 4]], r"\[0\].*inf"),
        ([[1, 2, 1e39, 4]], r"\[0\].*1e\+39"),
        ([[1, 2, 10**400, 4]], r"\[0\]"),
        ([[1, 2, 3, 4], []], r"fault is at \[1\].*\[\]"),
        ([[]], r"fault is at \[0\]"),
        ([[[1, 2, 3, 4]]], r"lists of shape \(1, 1, 4\)"),
        ([[True, False, True, True]], r"\[0\].*True"),
        ([{"x": 1, "y": 2, "w": 3, "h": 4}], r"got \[\{'h'"),
        ({"x": 1}, r"got \{'x'"),
        ("1,2,3,4", r"got '1,2"),
        (4, r"got 4"),
        (np.zeros((2, 5)), r"float64 of shape \(2, 5\)"),
        (np.full((2, 4), np.nan), r"nan"),
        (np.zeros((0, 5)), r"float64 of shape \(0, 5\)"),
    ],
)
def test_what_are_no_boxes_names_the_first_fault(value, said):
    with pytest.raises(DecodeError, match=said) as caught:
        boxes(value)
    assert "shape (N, 4)" in str(caught.value)


def test_keypoints_keep_how_they_are_nested():
    assert keypoints([[[1, 2], [3, 4]]]).shape == (1, 2, 2)
    assert keypoints([[1, 2], [3, 4]]).shape == (2, 2)
    assert keypoints(np.zeros((5, 17, 2))).dtype is torch.float32
    assert keypoints([]).shape == (0, 0, 2)
    assert keypoints([[], []]).shape == (2, 0, 2)
    assert keypoints(np.zeros((0, 17, 2))).shape == (0, 17, 2)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ([[[1, 2, 2]]], r"fault is at \[0\]\[0\].*\[1, 2, 2\]"),
        ([[[1, 2]], [[1, 2], [3, 4]]], "lists of different lengths"),
        ([[1, "2"]], r"\[0\]"),
        ([[1, 2], 3], r"fault is at \[1\].*got 3"),
        (7, "got 7"),
    ],
)
def test_what_are_no_keypoints(value, said):
    with pytest.raises(DecodeError, match=said):
        keypoints(value)


def test_depth_is_no_matter():
    deep = [1, 2, 3, 4]
    for _ in range(10_000):
        deep = [deep]
    for read in (boxes, keypoints):
        with pytest.raises(DecodeError, match=r"fault is at \[0\]\[0\]"):
            read(deep)
