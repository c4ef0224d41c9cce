"""Masks without Pillow against Pillow: every filter, flat and noisy, whole and damaged."""

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from headrace import _native
from headrace.codecs.masks import decode_mask, through_pillow
from headrace.codecs.plain_png import SIGNATURE, decode_plain_png
from headrace.contracts import ImageLimits
from headrace.errors import DecodeError

LIMIT = 1 << 20


def chunk(name, body):
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png_of(filtered, height, width, colour=0, extra=b""):
    header = struct.pack(">IIBBBBB", width, height, 8, colour, 0, 0, 0)
    return SIGNATURE + chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(filtered)) + chunk(b"IEND", b"")


@st.composite
def filtered_rows(draw):
    """Rows with a filter each: noise, or zeros with a few other bytes, as flat areas have them."""
    height, width = draw(st.integers(1, 12)), draw(st.integers(1, 50))
    rng = np.random.default_rng(draw(st.integers(0, 1000)))
    rows = rng.integers(0, 256, (height, width + 1)).astype(np.uint8)
    if draw(st.booleans()):
        rows *= rng.random((height, width + 1)) < draw(st.sampled_from([0.0, 0.02, 0.2]))
    rows[:, 0] = rng.integers(0, 5, height)
    return rows.tobytes(), height, width


@given(filtered_rows())
def test_every_filter_is_undone_as_by_pillow(rows):
    filtered, height, width = rows
    file = png_of(filtered, height, width)
    found = decode_plain_png(file, LIMIT)
    assert found is not None
    np.testing.assert_array_equal(found, np.asarray(Image.open(io.BytesIO(file))))


@given(filtered_rows(), st.data())
def test_damage_has_the_fate_that_pillow_gives_it(rows, data):
    file = bytearray(png_of(*rows))
    place = data.draw(st.integers(0, len(file) - 1))
    if data.draw(st.booleans()):
        file[place] ^= data.draw(st.integers(1, 255))
    else:
        del file[place:]
    assert outcome(decode_mask, bytes(file)) == outcome(lambda one: through_pillow(one, ImageLimits()), bytes(file))


def outcome(decode, file):
    try:
        return decode(file).tolist()
    except DecodeError as error:
        return type(error)


@pytest.mark.parametrize("size", [(1, 1), (3, 70), (64, 5)])
@pytest.mark.parametrize("mode", ["L", "P"])
def test_what_pillow_writes_is_plain(size, mode):
    values = np.random.default_rng(0).integers(0, 21, size).astype(np.uint8)
    image = Image.fromarray(values)
    if mode == "P":
        image = Image.frombytes("P", image.size, values.tobytes())
        image.putpalette(bytes(768))
    file = io.BytesIO()
    image.save(file, "PNG")
    np.testing.assert_array_equal(decode_plain_png(file.getvalue(), LIMIT), values)


@pytest.mark.parametrize(
    "file",
    [
        b"",
        SIGNATURE,
        png_of(b"\x05\0", 1, 1),
        png_of(b"\0\0\0", 1, 1),
        png_of(b"\0", 1, 1),
        png_of(b"\0\0", 1, 1, colour=3),
        png_of(b"\0\0", 1, 1, extra=chunk(b"acTL", bytes(8))),
        png_of(b"\0\0", 1, 1, extra=chunk(b"IHDR", bytes(13))),
        png_of(bytes(4 * 4100), 1, 4 * 4100 - 1)[:-20],
    ],
)
def test_what_is_not_plain_is_left_to_pillow(file):
    assert decode_plain_png(file, LIMIT) is None


def test_large_ones_are_left_to_those_who_refuse_them():
    assert decode_plain_png(png_of(bytes(110), 10, 10), 99) is None
    assert decode_plain_png(png_of(bytes(110), 10, 10), 100) is not None


def test_wrong_arguments_of_the_native_code_are_refused():
    for filtered, out in [(bytes(5), np.zeros((2, 2), np.uint8)), (bytes(6), np.zeros((2, 2), np.int8))]:
        with pytest.raises(ValueError, match="must"):
            _native.unfilter_png(filtered, out)


BODY = zlib.compress(b"\0\1\0\2")
GREY_2X1 = SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 2, 8, 0, 0, 0, 0))


@pytest.mark.parametrize(
    "middle",
    [
        chunk(b"IDAT", BODY[:3]) + chunk(b"tEXt", b"a\0b") + chunk(b"IDAT", BODY[3:]),
        *(chunk(name, b"") + chunk(b"IDAT", BODY) for name in (b"cHRM", b"gAMA", b"pHYs", b"sRGB", b"tRNS")),
    ],
)
def test_chunks_that_pillow_minds_are_left_to_pillow(middle):
    file = GREY_2X1 + middle + chunk(b"IEND", b"")
    assert decode_plain_png(file, LIMIT) is None
    assert decode_plain_png(GREY_2X1 + chunk(b"IDAT", BODY) + chunk(b"IEND", b""), LIMIT).tolist() == [[1], [2]]
