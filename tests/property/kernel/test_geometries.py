"""Every kind of geometry, output layout and source against Pillow and the reference draws."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from headrace import _native
from headrace._base.hashing import sample_keys
from headrace.recipes import draws
from tests.property.kernel.kernel_calls import encode, reference, rgb, run, spans

RATIO = (0.5, 2.0)
KEYS = sample_keys(7, 3, np.arange(6))


@pytest.fixture(scope="module")
def jpeg(photograph):
    return encode(photograph.resize((211, 160)), quality=91)


def sides(image: Image.Image, num: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full(num, image.height, np.int32), np.full(num, image.width, np.int32)


def assert_resized_crops(pool, jpeg, geometry, size, resized, boxes):
    """The rows are `boxes` of the image resized to (height, width)."""
    image = rgb(jpeg).resize(resized[::-1], Image.Resampling.BILINEAR)
    out, report = run(pool, geometry, [jpeg] * len(boxes), *size, keys=KEYS[: len(boxes)])
    assert not report.status.any(), report.message(0)
    np.testing.assert_array_equal(report.params[:, 2:6], boxes)
    for row, (top, left, height, width) in enumerate(boxes):
        np.testing.assert_array_equal(out[row], np.asarray(image.crop((left, top, left + width, top + height))))


def test_random_crop(pool, jpeg):
    boxes = draws.random_crop_boxes(KEYS, *sides(rgb(jpeg), 6), (64, 100), 5)
    geometry = _native.Geometry(kind="random_crop", height=64, width=100, crop_op=5)
    assert_resized_crops(pool, jpeg, geometry, (64, 100), (160, 211), boxes)


def test_center_crop(pool, jpeg):
    boxes = draws.center_crop_boxes(*sides(rgb(jpeg), 2), (63, 100))
    geometry = _native.Geometry(kind="center_crop", height=63, width=100)
    assert_resized_crops(pool, jpeg, geometry, (63, 100), (160, 211), boxes)


@pytest.mark.parametrize(("size", "cap"), [((97, 0), 0), ((97, 0), 101), ((230, 0), 0), ((90, 120), 0)])
def test_resize_and_random_crop(pool, jpeg, size, cap):
    heights, widths = draws.resized_sizes(*sides(rgb(jpeg), 6), *size, cap)
    boxes = draws.random_crop_boxes(KEYS, heights.astype(np.int32), widths.astype(np.int32), (40, 50), 2)
    geometry = _native.Geometry(
        kind="resize_random_crop", height=40, width=50, resize_height=size[0], resize_width=size[1], max_size=cap,
        crop_op=2,
    )  # fmt: skip
    assert_resized_crops(pool, jpeg, geometry, (40, 50), (int(heights[0]), int(widths[0])), boxes)


def test_resize_without_a_crop(pool, jpeg):
    geometry = _native.Geometry(kind="resize_center_crop", height=0, width=0, resize_height=80)
    assert_resized_crops(pool, jpeg, geometry, (80, 105), (80, 105), np.array([[0, 0, 80, 105]]))


@pytest.mark.parametrize("size", [(160, 211), (50, 300)])
def test_full(pool, jpeg, size):
    geometry = _native.Geometry(kind="full", height=size[0], width=size[1])
    assert_resized_crops(pool, jpeg, geometry, size, size, np.array([[0, 0, *size]]))


def test_given_boxes_and_flips_replace_the_draws(pool, jpeg):
    boxes = np.array([[0, 0, 160, 211], [3, 5, 70, 9], [159, 210, 1, 1]], np.int32)
    geometry = _native.Geometry(
        kind="random_resized_crop", height=30, width=30, ratio=RATIO, log_ratio=draws.log_ratio(RATIO)
    )  # fmt: skip
    out, report = run(pool, geometry, [jpeg] * 3, 30, 30, boxes=boxes, flips=np.array([0, 1, 0], np.uint8))
    np.testing.assert_array_equal(report.params[:, 2:7], np.c_[boxes, [0, 1, 0]])
    for row in range(3):
        np.testing.assert_array_equal(out[row], reference(rgb(jpeg), report.params[row], 30, 30))


@pytest.mark.parametrize("resample", [0, 2, 3])
@pytest.mark.parametrize("source", ["jpeg", "pixels"])
@pytest.mark.parametrize("size", [(30, 41), (200, 9), (70, 90), (1, 1)])
def test_a_flip_before_the_resize(pool, jpeg, resample, source, size):
    """Filters have no symmetry to the last bit: another image than with the flip last."""
    boxes = np.array([[0, 0, 160, 211], [3, 5, 70, 90], [100, 20, 60, 31], [159, 210, 1, 1]], np.int32)
    flips = np.array([1, 1, 0, 1], np.uint8)
    geometry = _native.Geometry(kind="boxes", height=size[0], width=size[1], filter=resample, flip_first=True)
    image = rgb(jpeg)
    if source == "jpeg":
        out, report = run(pool, geometry, [jpeg] * 4, *size, boxes=boxes, flips=flips)
    else:
        pixels, out = np.asarray(image), np.zeros((4, *size, 3), np.uint8)
        heights, widths = sides(image, 4)
        report = _native.run_pixels(
            pool, geometry, np.full(4, pixels.ctypes.data, np.uint64), heights, widths, 3 * widths.astype(np.int64),
            np.zeros(4, np.uint64), out, np.arange(4), boxes=boxes, flips=flips, channels_last=True,
        )  # fmt: skip
    assert not report.status.any()
    np.testing.assert_array_equal(report.params[:, 2:7], np.c_[boxes, flips])
    for row, (top, left, height, width) in enumerate(boxes.tolist()):
        crop = image.crop((left, top, left + width, top + height))
        mirrored = crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT) if flips[row] else crop
        np.testing.assert_array_equal(out[row], np.asarray(mirrored.resize(size[::-1], resample)))


@pytest.mark.parametrize("kind", ["random_crop", "center_crop"])
def test_a_crop_that_needs_padding_is_left_to_python(pool, jpeg, kind):
    out, report = run(pool, _native.Geometry(kind=kind, height=161, width=10), [jpeg], 161, 10)
    assert report.status[0] == _native.UNSUPPORTED
    assert "needs padding" in report.message(0)
    assert not out.any()


@pytest.mark.parametrize("box", [(-1, 0, 5, 5), (0, 207, 5, 5), (156, 0, 5, 5), (0, 0, 2**31 - 1, 1)])
def test_a_box_outside_the_image_is_left_to_python(pool, jpeg, box):
    boxes = np.array([box], np.int32)
    _, report = run(pool, _native.Geometry(kind="boxes", height=5, width=5), [jpeg], 5, 5, boxes=boxes)
    assert report.status[0] == _native.UNSUPPORTED
    assert "reaches outside" in report.message(0)


def test_a_result_of_another_size_is_refused(pool, jpeg):
    _, report = run(pool, _native.Geometry(kind="full", height=0, width=0), [jpeg], 160, 210)
    assert report.status[0] == _native.UNSUPPORTED
    assert "160 x 211" in report.message(0)


@pytest.mark.parametrize("channels_last", [False, True])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float16, np.float32])
def test_layouts_and_element_types(pool, jpeg, dtype, channels_last):
    geometry = _native.Geometry(kind="center_crop", height=32, width=48, flip_probability=1.0)
    plain, _ = run(pool, geometry, [jpeg] * 2, 32, 48)
    lut = np.random.default_rng(0).integers(0, 60000, (3, 256)).astype(dtype)
    out = np.zeros((4, 32, 48, 3) if channels_last else (4, 3, 32, 48), dtype)
    kept, addresses, sizes = spans([jpeg] * 2)
    rows, keys = np.array([3, 1]), np.zeros(2, np.uint64)
    report = _native.run_jpegs(
        pool, geometry, addresses, sizes, keys, out, rows, lut=lut, channels_last=channels_last
    )  # fmt: skip
    assert not report.status.any()
    expected = np.stack([lut[channel][plain[..., channel]] for channel in range(3)], axis=3 if channels_last else 1)
    np.testing.assert_array_equal(out[rows], expected)
    assert not out[[0, 2]].any()
    del kept


@given(
    height=st.integers(1, 40), width=st.integers(1, 40), gap=st.integers(0, 9), seed=st.integers(0, 999),
    kind=st.sampled_from(["random_resized_crop", "resize_center_crop", "full"]), resample=st.sampled_from([0, 2, 3]),
)  # fmt: skip
def test_pixels_instead_of_jpegs(height, width, gap, seed, kind, resample):
    generator = np.random.default_rng(seed)
    memory = generator.integers(0, 256, (height, 3 * width + gap), np.uint8)
    image = Image.fromarray(memory[:, : 3 * width].reshape(height, width, 3))
    options = {"log_ratio": draws.log_ratio(RATIO), "ratio": RATIO} if kind == "random_resized_crop" else {}
    options |= {"resize_height": 20} if kind == "resize_center_crop" else {}
    geometry = _native.Geometry(kind=kind, height=16, width=16, filter=resample, flip_probability=0.5, **options)
    out = np.zeros((1, 16, 16, 3), np.uint8)
    report = _native.run_pixels(
        _native.Pool(0), geometry, np.array([memory.ctypes.data], np.uint64), np.array([height], np.int32),
        np.array([width], np.int32), np.array([memory.strides[0]]), sample_keys(seed, 0, np.arange(1)), out,
        np.array([0]), channels_last=True,
    )  # fmt: skip
    params = report.params[0].tolist()
    if kind == "resize_center_crop":
        heights, widths = draws.resized_sizes(report.params[:, 0], report.params[:, 1], 20)
        image = image.resize((int(widths[0]), int(heights[0])), resample)
    if kind == "full":
        params[2:6] = [0, 0, height, width]
    np.testing.assert_array_equal(out[0], reference(image, params, 16, 16, resample))


@given(
    scale=st.tuples(st.floats(0, 1), st.floats(0, 1)).map(sorted),
    ratio=st.tuples(st.floats(0.1, 9), st.floats(0.1, 9)).map(sorted),
    seed=st.integers(0, 2**40), op=st.integers(0, 9),
)  # fmt: skip
def test_draws_of_any_scale_and_ratio(scale, ratio, seed, op):
    num = 40
    generator = np.random.default_rng(seed)
    heights, widths = generator.integers(1, 300, (2, num)).astype(np.int32)
    memory = np.zeros(300 * 300 * 3, np.uint8)
    geometry = _native.Geometry(
        kind="random_resized_crop", height=2, width=2, scale=tuple(scale), ratio=tuple(ratio),
        log_ratio=draws.log_ratio(tuple(ratio)), crop_op=op, flip_probability=0.3, flip_op=op + 1,
    )  # fmt: skip
    keys = sample_keys(seed, 1, np.arange(num))
    report = _native.run_pixels(
        _native.Pool(0), geometry, np.full(num, memory.ctypes.data, np.uint64), heights, widths,
        3 * widths.astype(np.int64), keys, np.zeros((num, 3, 2, 2), np.uint8), np.arange(num),
    )  # fmt: skip
    boxes = draws.random_resized_crop_boxes(keys, heights, widths, tuple(scale), tuple(ratio), op)
    np.testing.assert_array_equal(report.params[:, 2:6], boxes)
    np.testing.assert_array_equal(report.params[:, 6], draws.flips(keys, 0.3, op + 1))
