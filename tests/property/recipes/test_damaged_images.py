"""A damaged image has the same fate in the kernel as with Pillow: the same pixels, or the same kind of error.

Below a crop the kernel does not decode, so that damage there goes unseen; that is documented.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision.transforms import v2

from headrace import _native
from headrace.codecs import decode_image
from headrace.recipes import ImageProgram, compile_transform
from tests.encoded_images import KINDS, allocate, column, photograph

FILES = {kind: encode(photograph(50, 66)) for kind, encode in KINDS.items() if "jpeg" in kind}
KEY = np.array([5], np.uint64)


def fate(transform, fuse, data):
    program = ImageProgram(compile_transform(transform, fuse=fuse), _native.Pool(0), decode=decode_image)
    rows = program.run(column([data]), KEY, allocate, ragged="list")
    return [type(fault.error) for fault in rows.faults], rows.values[0]


@pytest.mark.parametrize("kind", FILES)
@settings(max_examples=60)
@given(
    changes=st.lists(st.tuples(st.integers(2, 10_000), st.integers(0, 255)), min_size=1, max_size=4),
    cut=st.tuples(st.integers(2, 10_000), st.sampled_from([0, 0, 0, 1, 9, 50, 10_000])),
)
def test_kernel_and_pillow_agree_on_damage(kind, changes, cut):
    data = bytearray(FILES[kind])
    for position, value in changes:
        data[2 + position % (len(data) - 2)] = value
    start = 2 + cut[0] % (len(data) - 2)
    del data[start : start + cut[1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about damaged metadata
        for transform in (None, v2.RandomResizedCrop(24)):
            errors, pixels = fate(transform, True, bytes(data))
            wanted_errors, wanted = fate(transform, False, bytes(data))
            if transform is None or errors:
                assert errors == wanted_errors
            # otherwise the damage may lie below the crop, where the kernel does not look
            assert errors or wanted_errors or torch.equal(pixels, wanted)
