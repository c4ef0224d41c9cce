"""Decoding only what a crop needs gives the pixels of a full decode: all samplings and sizes, boxes at all edges."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from headrace import _native
from tests.property.kernel.baseline_jpeg import EOI, baseline_jpeg
from tests.property.kernel.kernel_calls import encode, rgb, run

SAMPLINGS = {
    "4:4:4": [(1, 1), (1, 1), (1, 1)],
    "4:2:2": [(2, 1), (1, 1), (1, 1)],
    "4:2:0": [(2, 2), (1, 1), (1, 1)],
    "4:1:1": [(4, 1), (1, 1), (1, 1)],
    "4:4:0": [(1, 2), (1, 1), (1, 1)],
    "4:1:0": [(4, 2), (1, 1), (1, 1)],
    "4:2:0, equal chroma factors of two": [(2, 2), (2, 1), (2, 1)],
    "chroma finer than luma": [(1, 1), (2, 2), (2, 2)],
    "three to one": [(3, 1), (1, 1), (1, 1)],
    "mixed": [(2, 2), (2, 1), (1, 2)],
    "grey": [(1, 1)],
    "grey with factors of two": [(2, 2)],
}
SIZES = [(1, 1), (1, 9), (9, 1), (8, 8), (17, 9), (33, 31), (70, 52)]


def boxes_of(width: int, height: int, box_width: int, box_height: int, generator: np.random.Generator) -> np.ndarray:
    """Boxes of one size: the four corners and some places between, (boxes, 4)."""
    tops = np.r_[0, 0, height - box_height, height - box_height, generator.integers(0, height - box_height + 1, 4)]
    lefts = np.r_[0, width - box_width, 0, width - box_width, generator.integers(0, width - box_width + 1, 4)]
    return np.stack([tops, lefts, np.full(8, box_height), np.full(8, box_width)], axis=1).astype(np.int32)


def assert_crops_equal(pool: _native.Pool, jpeg: bytes, generator: np.random.Generator, num_shapes: int = 4) -> None:
    image = np.asarray(rgb(jpeg))
    height, width = image.shape[:2]
    geometry = _native.Geometry(kind="boxes", height=0, width=0)
    shapes = [(1, 1), (height, width)] + [
        (int(generator.integers(1, height + 1)), int(generator.integers(1, width + 1))) for _ in range(num_shapes)
    ]
    for box_height, box_width in shapes:
        boxes = boxes_of(width, height, box_width, box_height, generator)
        out, report = run(pool, geometry, [jpeg] * len(boxes), box_height, box_width, boxes=boxes)
        assert not report.status.any(), report.message(0)
        for row, (top, left, _, _) in enumerate(boxes):
            np.testing.assert_array_equal(out[row], image[top : top + box_height, left : left + box_width])


@pytest.mark.parametrize("size", SIZES, ids=str)
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_samplings(pool, sampling, size):
    jpeg = baseline_jpeg(*size, SAMPLINGS[sampling], seed=size[0])
    assert_crops_equal(pool, jpeg, np.random.default_rng(1))


@pytest.mark.parametrize("interval", [1, 2, 5, 9])
@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0", "grey"])
def test_restart_markers(pool, sampling, interval):
    jpeg = baseline_jpeg(150, 90, SAMPLINGS[sampling], restart_interval=interval)
    assert_crops_equal(pool, jpeg, np.random.default_rng(2))


@pytest.mark.parametrize("sampling", ["4:4:4", "4:2:0", "4:1:1"])
def test_a_scan_for_each_component(pool, sampling):
    jpeg = baseline_jpeg(70, 52, SAMPLINGS[sampling], interleaved=False)
    assert_crops_equal(pool, jpeg, np.random.default_rng(3))


@given(
    width=st.integers(1, 80),
    height=st.integers(1, 80),
    sampling=st.sampled_from(sorted(SAMPLINGS)),
    density=st.sampled_from([0.0, 0.05, 0.5, 1.0]),
    interval=st.integers(0, 4),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=60)
def test_any_coefficients(width, height, sampling, density, interval, seed):
    jpeg = baseline_jpeg(width, height, SAMPLINGS[sampling], seed=seed, restart_interval=interval, density=density)
    assert_crops_equal(_native.Pool(0), jpeg, np.random.default_rng(seed), num_shapes=1)


@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"progressive": True}, {"optimize": True}, {"restart_marker_rows": 1}], ids=str
)
def test_photographs(photograph, pool, subsampling, options):
    jpeg = encode(photograph.resize((301, 203)), quality=93, subsampling=subsampling, **options)
    assert_crops_equal(pool, jpeg, np.random.default_rng(4), num_shapes=8)


def test_progressive_files_whose_last_scans_are_missing(photograph, pool):
    # libjpeg smooths such an image over its neighbouring blocks, and how has changed between its versions
    jpeg = encode(photograph.resize((150, 140)), quality=80, progressive=True)
    scans = [at for at in range(len(jpeg) - 1) if jpeg[at : at + 2] == b"\xff\xda"]
    geometry = _native.Geometry(kind="full", height=0, width=0)
    files = [jpeg[: scans[num_scans]] + EOI for num_scans in range(1, len(scans))]
    _, report = run(pool, geometry, [*files, jpeg], 140, 150)
    assert report.status.tolist() == [_native.UNSUPPORTED] * len(files) + [_native.OK]


@pytest.mark.parametrize("scale", [2, 4, 8])
@pytest.mark.parametrize("subsampling", [0, 1, 2])
@pytest.mark.parametrize("size", [(400, 304), (397, 301)], ids=str)
def test_dct_scaling_decodes_as_pillow_draft(photograph, pool, scale, subsampling, size):
    jpeg = encode(photograph.resize(size), quality=90, subsampling=subsampling)
    image = Image.open(io.BytesIO(jpeg))
    image.draft("RGB", (size[0] // scale, size[1] // scale))
    width, height = -(-size[0] // scale), -(-size[1] // scale)
    assert image.size == (width, height)
    side = 37
    geometry = _native.Geometry(kind="boxes", height=side, width=side, dct_scaling=True)
    places = [(0, 0), (height - side, width - side), (height // 4, width // 3)] if height >= side else []
    boxes = np.array([[top * scale, left * scale, side * scale, side * scale] for top, left in places], np.int32)
    boxes = np.minimum(boxes, [[size[1], size[0], size[1], size[0]]]).reshape(-1, 4).astype(np.int32)
    boxes = boxes[(boxes[:, 0] + boxes[:, 2] <= size[1]) & (boxes[:, 1] + boxes[:, 3] <= size[0])]
    out, report = run(pool, geometry, [jpeg] * len(boxes), side, side, boxes=boxes)
    assert not report.status.any()
    for row, (top, left, _, _) in enumerate(boxes // scale):
        np.testing.assert_array_equal(out[row], np.asarray(image)[top : top + side, left : left + side])
    np.testing.assert_array_equal(report.params[:, 2:6], boxes)
