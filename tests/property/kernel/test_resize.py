"""The native resize against the installed Pillow wheel: every byte must agree."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from PIL import Image

from headrace import _native

NEAREST, BILINEAR, BICUBIC = 0, 2, 3
FILTERS = st.sampled_from((NEAREST, BILINEAR, BICUBIC))
SIZES = st.integers(1, 300)
PATHS = _native.simd_paths()

Pixels = npt.NDArray[np.uint8]


def noise(height: int, width: int, channels: int, seed: int) -> Pixels:
    """Random pixels, half of them black or white, which is what drives bicubic sums out of range."""
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
    extremes = rng.integers(0, 2, pixels.shape, dtype=np.uint8) * np.uint8(255)
    return np.where(rng.random(pixels.shape) < 0.5, extremes, pixels)


def pillow(pixels: Pixels, height: int, width: int, resample: int) -> Pixels:
    image = Image.fromarray(np.ascontiguousarray(pixels[:, :, :3]))
    return np.asarray(image.resize((width, height), Image.Resampling(resample)))


def assert_same_as_pillow(pixels: Pixels, height: int, width: int, resample: int) -> None:
    wanted = pillow(pixels, height, width, resample)
    for path in PATHS:
        got = _native.resize_pixels(pixels, height, width, filter=resample, path=path)
        np.testing.assert_array_equal(got, wanted, err_msg=f"path {path}")


@given(SIZES, SIZES, SIZES, SIZES, st.sampled_from((3, 4)), FILTERS, st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_any_size_to_any_size(
    in_height: int, in_width: int, height: int, width: int, channels: int, resample: int, seed: int
) -> None:
    assert_same_as_pillow(noise(in_height, in_width, channels, seed), height, width, resample)


@given(st.integers(1, 40), st.integers(1, 40), SIZES, SIZES, st.sampled_from((3, 4)), FILTERS, st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_small_sizes_where_edges_are_everything(
    in_height: int, in_width: int, height: int, width: int, channels: int, resample: int, seed: int
) -> None:
    assert_same_as_pillow(noise(in_height, in_width, channels, seed), height, width, resample)
    assert_same_as_pillow(noise(height, width, channels, seed), in_height, in_width, resample)


@given(
    st.sampled_from((BILINEAR, BICUBIC)),
    st.integers(20, 200),
    st.integers(20, 200),
    st.integers(-3, 80),
    st.integers(-3, 3),
    st.integers(0, 2**32),
)
@settings(max_examples=150, deadline=None)
@example(BILINEAR, 100, 100, 40, 0, 0)
@example(BILINEAR, 100, 100, 40, 1, 0)
@example(BICUBIC, 100, 100, -1, 2, 0)
def test_order_of_passes_at_its_boundary(
    resample: int, in_height: int, in_width: int, lost_columns: int, margin: int, seed: int
) -> None:
    """Rows go first from lost rows = 2 * lost columns + 1 on: sizes on both sides of that line."""
    width = max(1, in_width - lost_columns)
    height = max(1, in_height - 2 * lost_columns - margin)
    assert_same_as_pillow(noise(in_height, in_width, 3, seed), height, width, resample)


@pytest.mark.parametrize("resample", [NEAREST, BILINEAR, BICUBIC])
@pytest.mark.parametrize(
    ("in_height", "in_width", "height", "width"),
    [(3000, 3, 7, 5), (3, 3000, 5, 7), (2500, 40, 20, 30), (40, 2500, 30, 20), (1, 1, 200, 300), (2000, 2000, 1, 1)],
)
def test_extreme_shapes(resample: int, in_height: int, in_width: int, height: int, width: int) -> None:
    assert_same_as_pillow(noise(in_height, in_width, 3, 1), height, width, resample)


@pytest.mark.parametrize("resample", [NEAREST, BILINEAR, BICUBIC])
@pytest.mark.parametrize("value", [0, 1, 127, 254, 255])
def test_even_colour_stays(resample: int, value: int) -> None:
    pixels = np.full((61, 47, 4), value, dtype=np.uint8)
    assert_same_as_pillow(pixels, 224, 30, resample)


@st.composite
def windows(draw: st.DrawFn) -> tuple[int, int, tuple[int, int, int, int]]:
    """An output size and a window (top, left, height, width) in it, often touching an edge."""
    height, width = draw(SIZES), draw(SIZES)
    rows, columns = draw(st.integers(1, height)), draw(st.integers(1, width))
    top = draw(st.sampled_from((0, height - rows)) | st.integers(0, height - rows))
    left = draw(st.sampled_from((0, width - columns)) | st.integers(0, width - columns))
    return height, width, (top, left, rows, columns)


@given(SIZES, SIZES, windows(), st.sampled_from((3, 4)), FILTERS, st.integers(0, 2**32))
@settings(max_examples=300, deadline=None)
def test_window_is_a_crop_of_the_whole(
    in_height: int,
    in_width: int,
    window: tuple[int, int, tuple[int, int, int, int]],
    channels: int,
    resample: int,
    seed: int,
) -> None:
    """The hook hands the native code a copy of the needed region alone, so this tests partial images, too."""
    height, width, (top, left, rows, columns) = window
    pixels = noise(in_height, in_width, channels, seed)
    wanted = pillow(pixels, height, width, resample)[top : top + rows, left : left + columns]
    for path in PATHS:
        got = _native.resize_pixels(
            pixels, height, width, window=(top, left, rows, columns), filter=resample, path=path
        )
        np.testing.assert_array_equal(got, wanted, err_msg=f"path {path}")


@given(st.integers(1, 4000), st.integers(1, 4000))
@settings(max_examples=200, deadline=None)
def test_nearest_coordinates(in_size: int, size: int) -> None:
    """Pillow sums up the scale; the closed form differs in the last bit, and that picks other pixels."""
    index = np.arange(in_size)
    line = np.stack([index % 256, index // 256, index * 0], axis=-1).astype(np.uint8)
    assert_same_as_pillow(line[None], 1, size, NEAREST)
    assert_same_as_pillow(line[:, None], size, 1, NEAREST)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"path": "mmx"}, "no SIMD path named 'mmx'"),
        ({"filter": 1}, "filter must be"),
        ({"window": (0, 0, 9, 8)}, "window"),
        ({"window": (0, 0, 0, 8)}, "window"),
        ({"window": (-1, 0, 2, 2)}, "window"),
    ],
)
def test_wrong_arguments_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        _native.resize_pixels(noise(4, 4, 3, 0), 8, 8, **arguments)  # type: ignore[arg-type]
