"""Masks keep their values, whatever the image format says of colours."""

import io

import numpy as np
import pytest
import torch
from PIL import Image

from headrace.codecs import decode_mask
from headrace.contracts import ImageLimits
from headrace.errors import CorruptImageError, DecodeError, ImageLimitError, UnsupportedImageError

VALUES = np.random.default_rng(0).integers(0, 21, (13, 17))


def encoded(image, name="PNG", **options):
    buffer = io.BytesIO()
    image.save(buffer, name, **options)
    return buffer.getvalue()


def palette_image(values=VALUES):
    image = Image.fromarray(values.astype(np.uint8)).convert("L")
    image = Image.frombytes("P", image.size, image.tobytes())
    image.putpalette(np.random.default_rng(1).integers(0, 256, 768).astype(np.uint8).tobytes())
    return image


def test_a_palette_is_its_indices():
    mask = decode_mask(encoded(palette_image()))
    assert mask.dtype == np.uint8
    np.testing.assert_array_equal(mask, VALUES)


@pytest.mark.parametrize("transparency", [0, 3, bytes(range(255, 0, -1))])
def test_transparency_of_a_palette_changes_nothing(transparency):
    np.testing.assert_array_equal(decode_mask(encoded(palette_image(), transparency=transparency)), VALUES)


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_palettes_of_few_bits_are_their_indices(bits):
    values = VALUES % (1 << bits)
    np.testing.assert_array_equal(decode_mask(encoded(palette_image(values), bits=bits)), values)


@pytest.mark.parametrize("name", ["PNG", "TIFF", "BMP", "GIF"])
def test_grey_levels_are_kept_by_every_format(name):
    np.testing.assert_array_equal(decode_mask(encoded(Image.fromarray(VALUES.astype(np.uint8)), name)), VALUES)


def test_sixteen_bits_are_kept():
    values = VALUES * 3000 + 7
    for name in ("PNG", "TIFF"):
        mask = decode_mask(encoded(Image.fromarray(values.astype(np.uint16)), name))
        assert mask.dtype == np.int32
        np.testing.assert_array_equal(mask, values)


def test_single_bits_are_zero_and_one():
    mask = decode_mask(encoded(Image.fromarray(VALUES > 10)))
    assert mask.dtype == np.uint8
    np.testing.assert_array_equal(mask, VALUES > 10)


def test_a_mask_is_writable_memory_of_its_own():
    assert torch.from_numpy(decode_mask(encoded(palette_image()))).add_(1).max() == VALUES.max() + 1


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "LA"])
def test_several_numbers_a_pixel_are_refused(mode):
    with pytest.raises(DecodeError, match=f"more than one integer a pixel.*mode {mode}"):
        decode_mask(encoded(Image.new(mode, (4, 4))))


def test_floats_are_refused():
    with pytest.raises(DecodeError, match="mode F"):
        decode_mask(encoded(Image.new("F", (4, 4)), "TIFF"))


@pytest.mark.parametrize(
    ("name", "options"), [("JPEG", {}), ("WEBP", {}), ("PPM", {}), ("TIFF", {"compression": "jpeg"})]
)
def test_formats_that_change_values_are_refused_whatever_the_name_says(name, options):
    with pytest.raises(DecodeError, match="may change its values"):
        decode_mask(encoded(Image.new("L", (4, 4)), name, **options))


def test_damaged_and_oversized_masks_are_named():
    whole = encoded(Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64)).astype(np.uint8)))
    with pytest.raises(CorruptImageError):
        decode_mask(whole[: len(whole) // 2])
    with pytest.raises(ImageLimitError, match="4096 pixels"):
        decode_mask(whole, ImageLimits(pixels=4095))
    with pytest.raises(UnsupportedImageError):
        decode_mask(b"no image at all")
