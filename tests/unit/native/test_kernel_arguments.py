"""Wrong arguments of the kernel are a ValueError that names them; nothing is converted, nothing is written."""

from __future__ import annotations

import re

import numpy as np
import pytest

from headrace import _native

PIXELS = np.arange(6 * 5 * 3, dtype=np.uint8).reshape(6, 5, 3)
FULL = _native.Geometry(kind="full", height=4, width=4)


def jpegs(**changes):
    """Arguments of run_jpegs for two files that are no JPEGs."""
    arguments = {
        "pool": _native.Pool(0),
        "geometry": FULL,
        "addresses": np.full(2, PIXELS.ctypes.data, np.uint64),
        "sizes": np.full(2, 8, np.uint64),
        "keys": np.zeros(2, np.uint64),
        "out": np.zeros((3, 3, 4, 4), np.uint8),
        "rows": np.array([0, 2]),
    }
    return {**arguments, **changes}


def pixels(**changes):
    """Arguments of run_pixels for one image."""
    arguments = {
        "pool": _native.Pool(0),
        "geometry": FULL,
        "addresses": np.array([PIXELS.ctypes.data], np.uint64),
        "heights": np.array([6], np.int32),
        "widths": np.array([5], np.int32),
        "strides": np.array([15]),
        "keys": np.zeros(1, np.uint64),
        "out": np.zeros((1, 3, 4, 4), np.uint8),
        "rows": np.array([0]),
    }
    return {**arguments, **changes}


def test_the_arguments_above_are_right():
    assert _native.run_jpegs(**jpegs()).status.tolist() == [_native.UNSUPPORTED] * 2
    assert _native.run_pixels(**pixels()).status.tolist() == [_native.OK]


def test_without_rows_images_go_one_after_another():
    out = np.zeros((3, 3, 4, 4), np.uint8)
    report = _native.run_pixels(**pixels(rows=None, out=out))
    assert report.failed == []
    assert out[0].any()
    assert not out[1:].any()
    assert np.array_equal(out[:1], one_row())


def one_row():
    out = np.zeros((1, 3, 4, 4), np.uint8)
    _native.run_pixels(**pixels(out=out))
    return out


def test_a_report_names_the_rows_that_failed():
    assert _native.run_jpegs(**jpegs()).failed == [0, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"addresses": np.zeros(2, np.int64)}, "addresses must be a C-contiguous uint64 array"),
        ({"addresses": np.zeros((2, 1), np.uint64)}, "addresses must have one dimension"),
        ({"addresses": np.zeros(2, np.uint64)}, "address 0 is 0"),
        ({"sizes": np.zeros(3, np.uint64)}, re.escape("sizes must be a C-contiguous uint64 array of shape (2,)")),
        ({"sizes": np.full(2, 2**64 - 1, np.uint64)}, "size 0 is too large"),
        ({"keys": np.zeros(4, np.uint64)[::2]}, "keys must be a C-contiguous"),
        ({"rows": np.array([0, 3])}, "rows must lie in 0..3"),
        ({"rows": np.array([0, -1])}, "rows must lie in 0..3"),
        ({"rows": np.array([1, 1])}, "row 1 is given twice"),
        ({"rows": None, "out": np.zeros((1, 3, 4, 4), np.uint8)}, "out has 1 rows for 2 images"),
        ({"rows": np.array([0, 1], np.int32)}, "rows must be a C-contiguous int64 array"),
        ({"out": np.zeros((3, 3, 5, 4), np.uint8)}, "out has rows of 5 x 4, the geometry makes 4 x 4"),
        ({"out": np.zeros((3, 3, 4, 8), np.uint8)[..., ::2]}, "out must be C-contiguous"),
        ({"out": np.zeros((3, 4, 4, 3), np.uint8)}, "out must be C-contiguous of shape"),
        ({"out": np.zeros((3, 3, 4, 4), np.uint8), "channels_last": True}, "out must be C-contiguous of shape"),
        ({"out": np.zeros((3, 3, 4, 4), np.float32)}, "it needs a lut"),
        ({"out": np.zeros((3, 3, 4, 4), np.float64)}, "1, 2 or 4 bytes, got 8"),
        ({"lut": np.zeros((3, 255), np.uint8)}, "lut must be a C-contiguous array of shape"),
        ({"lut": np.zeros((3, 256), np.float32)}, "elements of 1 bytes like out"),
        ({"flips": np.zeros(2, np.bool_)}, "flips must be a C-contiguous uint8 array"),
        ({"boxes": np.ones((2, 4), np.int32)}, "boxes are not for the geometry full"),
        ({"geometry": _native.Geometry(kind="boxes", height=4, width=4)}, "boxes must be given"),
        (
            {"geometry": _native.Geometry(kind="boxes", height=4, width=4), "boxes": np.zeros((2, 4), np.int32)},
            "height of a box",
        ),
    ],
)
def test_run_jpegs_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        _native.run_jpegs(**jpegs(**changes))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"heights": np.array([0], np.int32)}, "heights must be between 1"),
        ({"widths": np.array([-1], np.int32)}, "widths must be between 1"),
        ({"strides": np.array([14])}, "strides must be between 15"),
        ({"addresses": np.zeros(1, np.uint64)}, "address 0 is 0"),
    ],
)
def test_run_pixels_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        _native.run_pixels(**pixels(**changes))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "warp"}, "kind must be full, random_resized_crop"),
        ({"height": -1}, "height must be between 0"),
        ({"width": 0}, "both be 0 or neither"),
        ({"kind": "random_crop", "height": 0, "width": 0}, "must not be 0 for random_crop"),
        ({"filter": 1}, "filter must be 0"),
        ({"scale": (0.5, 0.1)}, "scale must be"),
        ({"scale": (0.1, float("nan"))}, "scale must be"),
        ({"ratio": (0.0, 1.0)}, "ratio must be"),
        ({"log_ratio": (-1.0, float("inf"))}, "log_ratio must be"),
        ({"resize_height": 8}, "resize_height must be given for"),
        ({"kind": "resize_center_crop"}, "resize_height must be given for"),
        ({"resize_width": 8}, "resize_width is only for"),
        ({"max_size": 9}, "max_size is only for"),
        ({"flip_probability": 1.5}, "flip_probability must be between"),
        ({"crop_op": -1}, "crop_op must be between"),
        ({"flip_op": 2**32}, "flip_op must be between"),
        ({"max_pixels": 0}, "pixels must be between"),
        ({"max_scans": 0}, "scans must be between"),
        ({"max_decoder_bytes": 5}, "decoder_bytes must be between"),
    ],
)
def test_geometry_refuses(options, message):
    with pytest.raises(ValueError, match=message):
        _native.Geometry(**{"kind": "full", "height": 4, "width": 4, **options})


def test_geometry_takes_keywords_only():
    with pytest.raises(TypeError):
        _native.Geometry("full", 4, 4)


@pytest.mark.parametrize("num_threads", [-1, 5000])
def test_pool_refuses(num_threads):
    with pytest.raises(ValueError, match="num_threads must be between"):
        _native.Pool(num_threads)


def test_a_read_only_output_is_refused():
    out = np.zeros((3, 3, 4, 4), np.uint8)
    out.flags.writeable = False
    with pytest.raises(TypeError):
        _native.run_jpegs(**jpegs(out=out))


def test_messages_are_asked_for_by_row():
    report = _native.run_jpegs(**jpegs())
    assert "not a JPEG" in report.message(1)
    for row in (-1, 2):
        with pytest.raises(ValueError, match=r"row must lie in 0\.\.2"):
            report.message(row)


def test_a_report_outlives_its_batch():
    status, params = _native.run_pixels(**pixels()).status, _native.run_pixels(**pixels()).params
    assert status.tolist() == [0]
    assert params.tolist() == [[6, 5, 0, 0, 4, 4, 0, 1]]
    assert not status.flags.writeable


def crops(**changes):
    """Arguments of `iou_crops` for two images with three boxes."""
    usual = {
        "keys": np.arange(2, dtype=np.uint64),
        "sizes": np.array([[30, 40], [50, 20]]),
        "corners": np.array([[0, 0, 20, 20], [5, 5, 30, 30], [0, 0, 20, 50]], np.float32),
        "starts": np.array([0, 2, 3]),
        "options": np.array([0.1, 1.0]),
        "scale": (0.3, 1.0),
        "ratio": (0.5, 2.0),
        "trials": 40,
        "op": 0,
    }
    return usual | changes


def test_iou_crops_lie_inside_of_their_images():
    windows, cuts = _native.iou_crops(**crops())
    assert (windows[:, :2] >= 0).all()
    assert (windows[:, :2] + windows[:, 2:] <= crops()["sizes"]).all()
    assert set(cuts.tolist()) <= {1, 2}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"keys": np.zeros((2, 1), np.uint64)}, "keys must have one dimension"),
        ({"keys": np.zeros(2, np.int64)}, "keys must be a C-contiguous uint64 array"),
        ({"sizes": np.zeros((2, 2), np.int64)}, "edges of sizes must lie in 1"),
        ({"sizes": np.full((2, 2), 1 << 25)}, "edges of sizes must lie in 1"),
        ({"sizes": np.ones((3, 2), np.int64)}, re.escape("sizes must be a C-contiguous int64 array of shape (2, 2)")),
        ({"corners": np.zeros((3, 4), np.float16)}, "corners must be a C-contiguous array of float32 or float64"),
        ({"corners": np.zeros((3, 8), np.float32)[:, ::2]}, "corners must be a C-contiguous"),
        ({"corners": np.zeros(12, np.float32)}, "corners must be a C-contiguous"),
        ({"starts": np.array([0, 2])}, re.escape("starts must be a C-contiguous int64 array of shape (3,)")),
        ({"starts": np.array([0, 2, 4])}, "starts must rise from 0 to the number of boxes, 3"),
        ({"starts": np.array([0, 4, 3])}, "starts must rise"),
        ({"starts": np.array([1, 2, 3])}, "starts must rise"),
        ({"options": np.zeros(0)}, "options must have one dimension and an element"),
        ({"options": np.zeros(2, np.float32)}, "options must be a C-contiguous float64 array"),
        ({"scale": (0.0, 17.0)}, "scale must lie within -16..16"),
        ({"scale": (float("nan"), 1.0)}, "scale must lie within"),
        ({"op": -1}, "op must fit"),
    ],
)
def test_iou_crops_refuses(changes, message):
    with pytest.raises(ValueError, match=message):
        _native.iou_crops(**crops(**changes))
