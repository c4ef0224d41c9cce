"""The kernel against the Pillow wheel: full decode, crop, Image.resize, flip, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from headrace import _native
from headrace._base.hashing import sample_keys
from headrace.recipes import draws
from tests.property.kernel.kernel_calls import encode, reference, rgb, run

RATIO = (3 / 4, 4 / 3)
SIZES = [(500, 375), (333, 500), (100, 7), (17, 33), (1, 1)]


def random_resized_crop(**options):
    return _native.Geometry(
        kind="random_resized_crop",
        ratio=RATIO,
        log_ratio=draws.log_ratio(RATIO),
        flip_probability=0.5,
        flip_op=1,
        **options,
    )


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("progressive", [False, True])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
def test_random_resized_crops(photograph, pool, size, progressive, subsampling):
    jpeg = encode(photograph.resize(size), quality=90, subsampling=subsampling, progressive=progressive)
    image = rgb(jpeg)
    out, report = run(pool, random_resized_crop(height=56, width=48), [jpeg] * 12, 56, 48)
    assert not report.status.any()
    for row in range(12):
        np.testing.assert_array_equal(out[row], reference(image, report.params[row], 56, 48))


@pytest.mark.parametrize("resample", [0, 2, 3])
def test_filters(photograph, pool, resample):
    jpeg = encode(photograph, quality=90)
    out, report = run(pool, random_resized_crop(height=64, width=64, filter=resample), [jpeg] * 8, 64, 64)
    for row in range(8):
        np.testing.assert_array_equal(out[row], reference(rgb(jpeg), report.params[row], 64, 64, resample))


@pytest.mark.parametrize("size", [(500, 375), (333, 500), (300, 300), (257, 999)])
def test_resize_and_center_crop(photograph, pool, size):
    jpeg = encode(photograph.resize(size), quality=92)
    geometry = _native.Geometry(kind="resize_center_crop", resize_height=256, height=224, width=224)
    out, report = run(pool, geometry, [jpeg], 224, 224)
    height, width = (int(v[0]) for v in draws.resized_sizes(np.array([size[1]]), np.array([size[0]]), 256))
    top, left = draws.center_crop_boxes(np.array([height]), np.array([width]), (224, 224))[0, :2]
    resized = rgb(jpeg).resize((width, height), Image.Resampling.BILINEAR)
    np.testing.assert_array_equal(out[0], np.asarray(resized.crop((left, top, left + 224, top + 224))))
    assert report.params[0].tolist() == [size[1], size[0], top, left, 224, 224, 0, 1]


def test_grey_becomes_rgb(photograph, pool):
    jpeg = encode(photograph.convert("L"), quality=90)
    out, report = run(pool, random_resized_crop(height=32, width=32), [jpeg] * 4, 32, 32)
    for row in range(4):
        np.testing.assert_array_equal(out[row], reference(rgb(jpeg), report.params[row], 32, 32))


def test_draws_equal_the_reference(pool):
    generator = np.random.default_rng(3)
    heights, widths = generator.integers(1, 700, (2, 500)).astype(np.int32)
    keys = sample_keys(5, 1, np.arange(500))
    pixels = np.zeros(700 * 700 * 3, np.uint8)
    out = np.empty((500, 8, 8, 3), np.uint8)
    addresses = np.full(500, pixels.ctypes.data, np.uint64)
    geometry = random_resized_crop(height=8, width=8, crop_op=4)
    report = _native.run_pixels(
        pool,
        geometry,
        addresses,
        heights,
        widths,
        3 * widths.astype(np.int64),
        keys,
        out,
        np.arange(500),
        channels_last=True,
    )
    boxes = draws.random_resized_crop_boxes(keys, heights, widths, (0.08, 1.0), RATIO, 4)
    np.testing.assert_array_equal(report.params[:, 2:6], boxes)
    np.testing.assert_array_equal(report.params[:, 6], draws.flips(keys, 0.5, 1))
