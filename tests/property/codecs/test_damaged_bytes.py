"""Damaged bytes never raise anything but an error of the sample."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

from headrace.codecs import decode, encode
from headrace.errors import SampleError
from tests.encoded_images import KINDS, photograph

FILES = {name: ("png", kind(photograph(24, 31))) for name, kind in KINDS.items()} | {
    "array": ("npy", encode("npy", np.arange(30))),
    "arrays": ("npz", encode("npz", {"a": np.arange(30), "b": np.ones((2, 3))})),
    "torch": ("pt", encode("pt", [1, 2.5, "x"])),
    "gif": ("gif", encode("gif", photograph(20, 20))),
    "tiff": ("tiff", encode("tiff", photograph(20, 20))),
    "bmp": ("bmp", encode("bmp", photograph(20, 20))),
    "ppm": ("ppm", encode("ppm", photograph(20, 20))),
    "avif": ("avif", encode("avif", photograph(20, 20))),
    "jp2": ("jp2", encode("jp2", photograph(20, 20))),
    "tga": ("tga", encode("tga", photograph(20, 20))),
}


@st.composite
def damaged(draw, data):
    """The bytes with some overwritten, a piece cut out, or an end missing."""
    result = bytearray(data)
    for position, value in draw(st.lists(st.tuples(st.integers(0, len(data) - 1), st.integers(0, 255)), max_size=8)):
        result[position] = value
    for position, value in draw(
        st.lists(st.tuples(st.integers(0, min(64, len(data)) - 1), st.integers(0, 255)), max_size=3)
    ):
        result[position] = value
    start = draw(st.integers(0, len(data)))
    del result[start : start + draw(st.sampled_from([0, 0, 1, 7, len(data)]))]
    return bytes(result)


@pytest.mark.parametrize("name", FILES)
@settings(max_examples=60)
@given(data=st.data())
def test_damage_is_an_error_of_the_sample(name, data):
    extension, whole = FILES[name]
    bytes_now = data.draw(damaged(whole))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Pillow warns about damaged metadata
        with contextlib.suppress(SampleError):
            decode(extension, bytes_now)


def test_bomb_in_a_text_chunk_is_an_error_of_the_sample():
    info = PngImagePlugin.PngInfo()
    info.add_text("x", "a" * (PngImagePlugin.MAX_TEXT_CHUNK + 1), zip=True)
    file = io.BytesIO()
    Image.new("RGB", (2, 2)).save(file, "PNG", pnginfo=info)
    with pytest.raises(SampleError):
        decode("png", file.getvalue())
