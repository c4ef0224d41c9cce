"""Views from one decoding are those that are decoded one by one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import _native
from headrace._base.hashing import sample_keys
from tests.encoded_images import KINDS, column, photograph

LARGE = {"kind": "random_resized_crop", "height": 24, "width": 20, "scale": (0.3, 1.0), "log_ratio": (-0.2, 0.2)}
SMALL = {"kind": "random_resized_crop", "height": 9, "width": 9, "scale": (0.02, 0.1), "log_ratio": (-0.2, 0.2)}
WHOLE = {"kind": "resize_center_crop", "height": 16, "width": 16, "resize_height": 20}
TOO_LARGE = {"kind": "center_crop", "height": 90, "width": 90}


@given(
    st.lists(st.sampled_from([LARGE, SMALL, WHOLE, TOO_LARGE]), min_size=1, max_size=5),
    st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=4),
    st.booleans(),
    st.sampled_from([0, 2]),
    st.booleans(),
)
def test_each_view_is_what_it_is_alone(geometries, kinds, cut, num_threads, channels_last):
    files = [KINDS[kind](photograph(70 + 9 * row, 100 - 7 * row)) for row, kind in enumerate(kinds)]
    files = [file[: len(file) // 2] if cut and row == 0 else file for row, file in enumerate(files)]
    there, made = column(files), []
    pool = _native.Pool(num_threads)
    try:
        known = [_native.Geometry(flip_probability=0.5, flip_op=1, **geometry) for geometry in geometries]
        keys = [sample_keys(view, 0, np.arange(len(files))) for view in range(len(known))]
        shapes = [shape_of(geometry, channels_last) for geometry in geometries]
        outs = [np.full((len(files), *shape), 7, np.uint8) for shape in shapes]
        reports = _native.run_views(
            pool, there.addresses, there.sizes, known, keys, outs, [None] * len(known), channels_last=channels_last
        )
        for geometry, own_keys, out, report in zip(known, keys, outs, reports, strict=True):
            alone = np.full_like(out, 9)
            expected = _native.run_jpegs(
                pool, geometry, there.addresses, there.sizes, own_keys, alone, channels_last=channels_last
            )
            good = expected.status == _native.OK
            made.append(good.any())
            # one decoding may meet damage that the parts alone do not reach: then Pillow's verdict counts
            further = good & (report.status == _native.NEEDS_FULL)
            assert np.array_equal(report.status[~further], expected.status[~further])
            assert np.array_equal(out[~further], alone[~further])
            assert np.array_equal(report.params[~further], expected.params[~further])
            assert not out[report.status != _native.OK].any()
    finally:
        pool.close()


def shape_of(geometry, channels_last):
    height, width = geometry["height"], geometry["width"]
    return (height, width, 3) if channels_last else (3, height, width)


@pytest.mark.parametrize("wrong", ["lengths", "none", "orientation", "scaling"])
def test_wrong_arguments_are_refused(wrong, pool):
    there = column([KINDS["jpeg 4:2:0"](photograph(40, 40))])
    keys, out = sample_keys(0, 0, np.arange(1)), np.zeros((1, 3, 24, 20), np.uint8)
    other = {"orientation": {"apply_exif": True}, "scaling": {"dct_scaling": True}}.get(wrong, {})
    geometries = [] if wrong == "none" else [_native.Geometry(**LARGE), _native.Geometry(**LARGE, **other)]
    num = 1 if wrong == "lengths" else len(geometries)
    with pytest.raises(ValueError, match="must"):
        _native.run_views(pool, there.addresses, there.sizes, geometries, [keys] * num, [out] * num, [None] * num)
