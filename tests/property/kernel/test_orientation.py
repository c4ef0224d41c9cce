"""EXIF orientation: draws are made upright, and pixels equal PIL.ImageOps.exif_transpose, then crop and resize."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image, ImageOps

from headrace import _native
from headrace.recipes import draws
from tests.property.kernel.kernel_calls import encode, reference, run, spans

RATIO = (3 / 4, 4 / 3)
TAG = 0x0112


def geometry(**options):
    return _native.Geometry(
        kind="random_resized_crop", height=24, width=20, ratio=RATIO, log_ratio=draws.log_ratio(RATIO),
        flip_probability=0.5, flip_op=1, **options
    )  # fmt: skip


def upright(jpeg: bytes) -> Image.Image:
    return ImageOps.exif_transpose(Image.open(io.BytesIO(jpeg))).convert("RGB")


def oriented(photograph: Image.Image, orientation: int, **options) -> bytes:
    exif = Image.Exif()
    exif[TAG] = orientation
    return encode(photograph.resize((90, 61)), quality=90, exif=exif, **options)


@pytest.mark.parametrize("subsampling", [0, 2])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_is_applied_to_boxes_and_pixels(photograph, pool, orientation, subsampling):
    jpeg = oriented(photograph, orientation, subsampling=subsampling)
    image = upright(jpeg)
    out, report = run(pool, geometry(apply_exif=True), [jpeg] * 10, 24, 20)
    assert report.params[:, :2].tolist() == [[image.height, image.width]] * 10
    assert report.params[:, 7].tolist() == [orientation] * 10
    for row in range(10):
        np.testing.assert_array_equal(out[row], reference(image, report.params[row], 24, 20))


def test_exif_is_ignored_unless_asked_for(photograph, pool):
    jpeg = oriented(photograph, 6)
    out, report = run(pool, geometry(), [jpeg], 24, 20)
    assert report.params[0, [0, 1, 7]].tolist() == [61, 90, 1]
    np.testing.assert_array_equal(out[0], reference(Image.open(io.BytesIO(jpeg)), report.params[0], 24, 20))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_whole_images(photograph, pool, orientation):
    jpeg = oriented(photograph, orientation)
    kept, addresses, sizes = spans([jpeg])
    images, report = _native.decode_full(pool, addresses, sizes, apply_exif=True)
    np.testing.assert_array_equal(images[0], np.asarray(upright(jpeg)))
    assert report.params[0].tolist() == [*images[0].shape[:2], 0, 0, *images[0].shape[:2], 0, orientation]
    del kept


def tiff(order: str, kind: int, count: int, value: bytes) -> bytes:
    number = {"II": "little", "MM": "big"}[order]
    entry = b"".join(part.to_bytes(size, number) for part, size in ((TAG, 2), (kind, 2), (count, 4)))
    head = order.encode() + (42).to_bytes(2, number) + (8).to_bytes(4, number)
    return b"Exif\0\0" + head + (1).to_bytes(2, number) + entry + value.ljust(4, b"\0") + bytes(4)


@pytest.mark.filterwarnings("ignore:Metadata Warning")  # Pillow says so of several values
@pytest.mark.parametrize(
    "exif",
    [
        tiff("II", 3, 1, b"\x06\x00"),
        tiff("MM", 3, 1, b"\x00\x06"),
        tiff("II", 4, 1, b"\x06\x00\x00\x00"),
        tiff("II", 1, 1, b"\x06"),
        tiff("II", 3, 2, b"\x06\x00\x06\x00"),
        tiff("II", 6, 1, b"\x03"),
        tiff("II", 3, 3, b"\x08\x00\x00\x00") + b"\x06\0\x01\0\x01\0",
        tiff("II", 3, 1, b"\x09\x00"),
        tiff("II", 3, 1, b"\x00\x00"),
    ],
)
def test_forms_of_the_tag(photograph, pool, exif):
    jpeg = encode(photograph.resize((90, 61)), exif=exif)
    kept, addresses, sizes = spans([jpeg])
    images, _ = _native.decode_full(pool, addresses, sizes, apply_exif=True)
    np.testing.assert_array_equal(images[0], np.asarray(upright(jpeg)))
    del kept


@pytest.mark.filterwarnings("ignore:Metadata Warning")  # Pillow says so of several values
@pytest.mark.parametrize(
    "exif", [b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0II*\0\x08\0\0\0\xff\xff\x12\x01"]
)
def test_cut_off_exif_is_no_orientation(photograph, pool, exif):
    jpeg = encode(photograph.resize((30, 20)), exif=exif)
    kept, addresses, sizes = spans([jpeg])
    images, _ = _native.decode_full(pool, addresses, sizes, apply_exif=True)
    assert images[0].shape == (20, 30, 3)
    del kept


def test_xmp_counts_where_exif_says_nothing(photograph, pool):
    xmp = b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:Description tiff:Orientation="8"/></x:xmpmeta>'
    jpeg = encode(photograph.resize((90, 61)), xmp=xmp)
    kept, addresses, sizes = spans([jpeg])
    images, _ = _native.decode_full(pool, addresses, sizes, apply_exif=True)
    np.testing.assert_array_equal(images[0], np.asarray(upright(jpeg)))
    assert images[0].shape == (90, 61, 3)
    del kept


@pytest.mark.parametrize("orientation", range(1, 9))
def test_headers_say_the_size_upright_where_exif_is_applied(photograph, orientation):
    jpeg = oriented(photograph, orientation)
    kept, addresses, sizes = spans([jpeg])
    image = upright(jpeg)
    assert _native.probe(addresses, sizes, True)[0][0, :2].tolist() == [image.height, image.width]
    assert _native.probe(addresses, sizes)[0][0, :2].tolist() == [61, 90]
    del kept
