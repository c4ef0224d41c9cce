from __future__ import annotations

import io
import zlib

import numpy as np
import pytest
from PIL import Image

from headrace.codecs import decode, decode_image, decode_mask, encode
from headrace.contracts import ImageLimits
from headrace.errors import CorruptImageError, ImageLimitError, UnsupportedImageError, WriteError
from tests.encoded_images import KINDS, photograph, pillow_rgb
from tests.encoded_images import encode as written

IMAGE = photograph(37, 53)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_becomes_the_rgb_that_pillow_makes(kind):
    data = KINDS[kind](IMAGE)
    got = decode_image(data)
    assert got.mode == "RGB"
    assert got.tobytes() == pillow_rgb(data).tobytes()


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_are_sniffed_whatever_the_extension(kind):
    data = KINDS[kind](IMAGE)
    assert decode("jpeg", data).tobytes() == decode("png", memoryview(data)).tobytes()


def test_inverted_cmyk_keeps_its_colours():
    red = Image.new("RGB", (16, 16), (220, 30, 40))
    pixel = np.asarray(decode_image(KINDS["cmyk jpeg"](red)))[8, 8].astype(int)
    assert abs(pixel - (220, 30, 40)).max() < 12


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "webp"])
def test_image_cut_at_60_percent_is_corrupt(kind):
    data = KINDS[kind](IMAGE)
    with pytest.raises(CorruptImageError):
        decode_image(data[: len(data) * 6 // 10])


@pytest.mark.parametrize("data", [b"", b"<html>not found</html>", b"\xff\xd8"])
def test_bytes_that_are_no_image(data):
    with pytest.raises((UnsupportedImageError, CorruptImageError)):
        decode_image(data)


def test_damaged_header_of_a_known_format_is_corrupt():
    for kind in ("jpeg 4:2:0", "png"):
        data = bytearray(KINDS[kind](IMAGE))
        data[12:40] = bytes(28)
        with pytest.raises(CorruptImageError):
            decode_image(bytes(data[:60]))


def test_first_bytes_are_shown_where_no_image_is_found():
    with pytest.raises(UnsupportedImageError, match="<html>"):
        decode_image(b"<html>not found</html>")


def test_postscript_never_reaches_ghostscript():
    with pytest.raises(UnsupportedImageError):
        decode_image(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n%%EndComments\n")


def test_pixels_are_limited_before_they_are_decoded():
    with pytest.raises(ImageLimitError, match=r"53 x 37 = 1961 pixels; accepted: at most 1960"):
        decode_image(KINDS["png"](IMAGE), ImageLimits(pixels=1960))
    decode_image(KINDS["png"](IMAGE), ImageLimits(pixels=1961))


def test_a_header_that_claims_gigapixels_is_refused():
    file = io.BytesIO()
    Image.new("1", (8, 8)).save(file, "BMP")
    data = bytearray(file.getvalue())
    data[18:26] = (60000).to_bytes(4, "little") * 2
    with pytest.raises(ImageLimitError):
        decode_image(bytes(data))


def claiming(kind, width, height):
    """A file whose header states another size than it has."""
    data = bytearray(KINDS[kind](Image.new("L" if kind == "png" else "RGB", (8, 8))))
    if kind == "png":
        data[16:24] = width.to_bytes(4, "big") + height.to_bytes(4, "big")
        data[29:33] = zlib.crc32(data[12:29]).to_bytes(4, "big")
        return bytes(data)
    frame = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    data[frame + 5 : frame + 9] = height.to_bytes(2, "big") + width.to_bytes(2, "big")
    return bytes(data)


@pytest.mark.parametrize(
    ("kind", "decode"), [("png", decode_image), ("progressive jpeg", decode_image), ("png", decode_mask)]
)
def test_an_image_between_pillows_limit_and_ours_names_pillows(kind, decode):
    data = claiming(kind, 16000, 12000)
    with pytest.raises(ImageLimitError) as raised:
        decode(data)
    said = str(raised.value)
    for part in ("16000 x 12000 = 192000000", "178956970", "twice PIL.Image.MAX_IMAGE_PIXELS", "worker_init_fn"):
        assert part in said
    with pytest.raises(ImageLimitError, match=r"at most 191999999 \(the `pixels` limit\)"):
        decode(data, ImageLimits(pixels=191999999))


def test_pillows_limit_is_followed_where_it_is_set(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 980)
    with pytest.raises(ImageLimitError, match=r"53 x 37 = 1961 pixels; accepted: at most 1960 \(twice"):
        decode_image(KINDS["png"](IMAGE))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1961)
    decode_image(KINDS["png"](IMAGE))


def test_pillows_warning_of_a_size_is_no_damage_where_warnings_are_errors():
    with pytest.raises(ImageLimitError, match="12000 x 8000 = 96000000 pixels; accepted: at most 89478485"):
        decode_image(claiming("png", 12000, 8000))


def test_scans_of_a_progressive_jpeg_are_limited():
    data = KINDS["progressive jpeg"](IMAGE)
    num_scans = data.count(b"\xff\xda")
    assert num_scans > 2
    with pytest.raises(ImageLimitError, match=f"{num_scans} scans"):
        decode_image(data, ImageLimits(scans=num_scans - 1))
    decode_image(data, ImageLimits(scans=num_scans))


def test_orientation_is_ignored_unless_asked_for():
    exif = IMAGE.getexif()
    exif[0x0112] = 6
    data = written(IMAGE, "JPEG", exif=exif)
    assert decode_image(data).size == (53, 37)
    assert decode_image(data, exif="apply").size == (37, 53)


@pytest.mark.parametrize("extension", ["png", "bmp", "tiff", "ppm", "webp", "gif"])
def test_lossless_formats_read_back_the_same(extension):
    pixels = np.zeros((5, 7, 3), np.uint8)
    pixels[2:, 3:] = (255, 0, 10)
    assert np.array_equal(np.asarray(decode(extension, encode(extension, pixels))), pixels)
    assert np.array_equal(np.asarray(decode(extension, encode(extension, Image.fromarray(pixels)))), pixels)


def test_jpeg_is_written_at_a_high_quality():
    assert encode("jpg", IMAGE) == written(IMAGE, "JPEG", quality=95)


@pytest.mark.parametrize("value", [None, "text", np.zeros((2, 2, 7), np.uint8), np.zeros((3, 3), np.complex128)])
def test_what_is_no_image_is_not_written(value):
    with pytest.raises(WriteError):
        encode("png", value)


def test_mode_that_the_format_lacks_is_not_written():
    with pytest.raises(WriteError, match="JPEG"):
        encode("jpg", Image.new("RGBA", (2, 2)))
