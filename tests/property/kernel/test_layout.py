"""The layout pass against numpy."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace import _native

PATHS = _native.simd_paths()
WIDTHS = st.integers(1, 70) | st.sampled_from((96, 127, 128, 129, 224, 300))


def laid_out(
    pixels: npt.NDArray[np.uint8], flip: bool, channels_last: bool, lut: npt.NDArray[np.generic] | None
) -> npt.NDArray[np.generic]:
    rgb: npt.NDArray[np.generic] = pixels[:, ::-1, :3] if flip else pixels[:, :, :3]
    if lut is not None:
        rgb = np.stack([lut[channel][rgb[:, :, channel]] for channel in range(3)], axis=-1)
    return rgb if channels_last else rgb.transpose(2, 0, 1)


@given(
    st.integers(1, 9),
    WIDTHS,
    st.sampled_from((3, 4)),
    st.booleans(),
    st.booleans(),
    st.sampled_from((None, "uint8", "float16", "float32", "int16")),
    st.integers(0, 2**32),
)
@settings(max_examples=400, deadline=None)
def test_layout_is_numpys(
    height: int, width: int, channels: int, flip: bool, channels_last: bool, dtype: str | None, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    pixels = rng.integers(0, 256, (height, width, channels), dtype=np.uint8)
    lut = None if dtype is None else rng.integers(0, 256, (3, 256)).astype(dtype)
    wanted = laid_out(pixels, flip, channels_last, lut)
    for path in PATHS:
        # One row more than needed, to see writes past the end.
        block = np.full((wanted.size + 64,), 77, dtype=wanted.dtype)
        out = block[: wanted.size].reshape(wanted.shape)
        _native.lay_out_pixels(pixels, out, flip=flip, channels_last=channels_last, lut=lut, path=path)
        np.testing.assert_array_equal(out, wanted, err_msg=f"path {path}")
        assert (block[wanted.size :] == 77).all(), f"path {path} writes past the end"


def test_wrong_sizes_are_refused() -> None:
    pixels = np.zeros((4, 5, 3), np.uint8)
    with pytest.raises(ValueError, match="wrong size"):
        _native.lay_out_pixels(pixels, np.zeros((3, 4, 4), np.uint8))
    with pytest.raises(ValueError, match="lut"):
        _native.lay_out_pixels(pixels, np.zeros((3, 4, 5), np.float32))
    with pytest.raises(ValueError, match="lut"):
        _native.lay_out_pixels(pixels, np.zeros((3, 4, 5), np.float32), lut=np.zeros((3, 256), np.uint8))
    with pytest.raises(ValueError, match="1, 2 or 4"):
        _native.lay_out_pixels(pixels, np.zeros((3, 4, 5), np.float64))
