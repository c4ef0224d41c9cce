"""Encoded images to pixels: the kernel first, Pillow for what the kernel leaves."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace import _native
from headrace.contracts import I64, RAISE_LIMITS, U8, U64, ByteColumn, DecodeImage, InMemory, Recorder
from headrace.errors import CorruptImageError, ImageLimitError, MissingFieldError, SampleError
from headrace.recipes.encoded import run_on
from headrace.recipes.recipe import ImageRecipe
from headrace.recipes.tensors import pil_pixels


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoder:
    """Decodes whole images of a column."""

    recipe: ImageRecipe
    pool: _native.Pool
    decode: DecodeImage
    recorder: Recorder | None = None
    """Counts `pillow_decodes`."""

    def pixels(self, column: ByteColumn, rows: I64) -> list[U8 | SampleError]:
        """RGB pixels of shape (H, W, 3) for each of these rows, or what is wrong with it."""
        if not rows.size:
            return []
        limits = self.recipe.limits
        chosen = column.take(rows)

        def call(
            encoded: U64 | _native.CachedRanges,
        ) -> tuple[list[U8 | None], _native.BatchReport]:
            return _native.decode_full(
                self.pool,
                encoded,
                chosen.sizes,
                apply_exif=self.recipe.exif == "apply",
                max_pixels=limits.pixels,
                max_scans=limits.scans,
                max_decoder_bytes=limits.decoder_bytes,
            )

        arrays, report = run_on(chosen, call, lambda result: [result[1]])
        return [
            self.left_over(column, int(row), int(report.status[index]), report.message(index))
            if array is None
            else array
            for index, (row, array) in enumerate(zip(rows, arrays, strict=True))
        ]

    def sizes(self, column: ByteColumn) -> I64:
        """Height and width of each image as its header has them, shape (rows, 2); zeros where it is no plain JPEG.

        Bytes that are left in the page cache stay there; they are copied for the look, and again to be decoded.
        """
        place = column.place
        encoded = place.addresses if isinstance(place, InMemory) else place.ranges
        headers, status = _native.probe(encoded, column.sizes, self.recipe.exif == "apply")
        sizes = headers[:, :2].astype(np.int64)
        sizes[status != _native.OK] = 0
        return sizes

    def left_over(self, column: ByteColumn, row: int, status: int, message: str) -> U8 | SampleError:
        """What becomes of a row that the kernel did not decode: Pillow's pixels, or an error."""
        refused = refusal_of(status, message)
        if refused is not None:
            return refused
        image = self.image(column, row)
        return image if isinstance(image, SampleError) else pil_pixels(image)

    def image(self, column: ByteColumn, row: int) -> Any | SampleError:
        """A row as Pillow decodes it: an RGB image, or what is wrong with it."""
        if self.recorder is not None:
            self.recorder.count("pillow_decodes")
        try:
            return self.decode(bytes_of(column, row), self.recipe.limits, self.recipe.exif)
        except SampleError as error:
            return error


def refusal_of(status: int, message: str) -> SampleError | None:
    """The error of a row that the kernel refused for good; None where Pillow is to try."""
    if status == _native.CORRUPT:
        return CorruptImageError(f"this JPEG is damaged: {message}", stage="decode")
    if status == _native.OVER_LIMIT:
        return ImageLimitError(
            f"this JPEG asks for more than the limits allow: {message}",
            remedy=RAISE_LIMITS,
            stage="decode",
        )
    return None


def bytes_of(column: ByteColumn, row: int) -> bytes:
    """A copy of the encoded bytes of a row."""
    return ctypes.string_at(int(column.addresses[row]), int(column.sizes[row]))


def absent() -> MissingFieldError:
    """The error of a row whose sample lacks the field."""
    return MissingFieldError("the sample has no image in this field", remedy="Choose missing='skip' or 'none'.")
