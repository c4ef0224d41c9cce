"""The prefix of a recipe: from encoded bytes to a finished batch, or to what the Python part gets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace import _native
from headrace.contracts import I32, I64, RAISE_LIMITS, U8, Allocate, ByteColumn, Fault
from headrace.errors import ImageLimitError, SampleError
from headrace.recipes.full_decode import absent
from headrace.recipes.row_draws import RowDraws, output_sizes
from headrace.recipes.rows import Rows
from headrace.recipes.span_runner import Outcome, SpanRunner, empty_outcome, rows_of, sizes_of
from headrace.recipes.tensors import Target, image_of, tensor_of

PORTION_PIXELS = 1 << 26
"""Pixels of whole images that are decoded together: 340 photographs of 500 x 375, five of 12 megapixels, 200 MB."""

UNKNOWN_PIXELS = 1 << 22
"""What an image counts whose header only Pillow can read."""


@dataclass(frozen=True, slots=True)
class PrefixRunner:
    """Runs the first span on columns of bytes."""

    runner: SpanRunner

    def run_whole(self, column: ByteColumn, draws: RowDraws, allocate: Allocate, *, channels_last: bool) -> Rows | None:
        """The batch in one call of the kernel, straight into leased memory; None where sizes may differ."""
        rows = column.present if len(column.absent) else None
        there, draws_there = (column, draws) if rows is None else (column.take(rows), draws.take(rows))
        size = self.common_size(there)
        if size is None:
            return None
        target = self.runner.target(allocate, len(draws.keys), size, channels_last=channels_last)
        outcome = self.runner.jpegs(there, draws_there, target, rows)
        outcome.errors.update({row: absent() for row in column.absent.tolist()})
        return rows_of(target, outcome)

    def run_apart(
        self,
        column: ByteColumn,
        draws: RowDraws,
        allocate: Allocate,
        rows: I64,
        *,
        by_kernel: bool,
        params: I32 | None = None,
    ) -> list[Any]:
        """One value for each of `rows`, of the form in which the span ends, or a `Fault`.

        Args:
            column: The encoded images.
            draws: Random numbers of each row of the column.
            allocate: Where memory comes from; tensors given back here lie in it.
            rows: Which rows of the column.
            by_kernel: False has Pillow decode everything.
            params: Gets the geometry of each row that the kernel does, shape (rows of the column, 8).
        """
        params = empty_outcome(len(draws.keys)).params if params is None else params
        present = np.setdiff1d(rows, column.absent)
        if not by_kernel:
            values = {row: self.runner.decoder.image(column, row) for row in present.tolist()}
        else:
            size = self.common_size(column.take(present))
            values = (
                self.varied(column, present, draws, allocate, params)
                if size is None
                else self.alike(column, present, draws, allocate, size, params)
            )
        return [as_fault(values[row] if row in values else absent(), row) for row in rows.tolist()]

    def alike(
        self, column: ByteColumn, rows: I64, draws: RowDraws, allocate: Allocate, size: tuple[int, int], params: I32
    ) -> dict[int, Any]:
        """Values of images that all come out at one size: one call of the kernel."""
        target = self.runner.target(allocate, len(rows), size, channels_last=self.inner_channels)
        outcome = self.runner.jpegs(column.take(rows), draws.take(rows), target)
        params[rows] = outcome.params
        return self.pieces(target, outcome, rows)

    def varied(self, column: ByteColumn, rows: I64, draws: RowDraws, allocate: Allocate, params: I32) -> dict[int, Any]:
        """Values of images whose sizes differ: all are decoded, then each group of one size goes through."""
        values: dict[int, Any] = dict(zip(rows.tolist(), self.runner.decoder.pixels(column, rows), strict=True))
        whole = {row: pixels for row, pixels in values.items() if not isinstance(pixels, SampleError)}
        span = self.runner.span
        if span.geometry.is_empty and span.table is None:
            for row, pixels in whole.items():
                params[row] = untouched(*pixels.shape[:2])
            return values | {row: image_of(pixels, "pil") for row, pixels in whole.items()}
        groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        decoded = np.fromiter(whole, dtype=np.int64)
        sizes = output_sizes(span.geometry, draws.take(decoded), sizes_of(list(whole.values())))
        for row, size in zip(whole, sizes, strict=True):
            groups[size].append(row)
        for size, members in groups.items():
            if size[0] * size[1] > self.max_pixels:
                values |= {row: resized_too_large(size, self.max_pixels) for row in members}
                continue
            values |= self.group([whole[row] for row in members], np.array(members), draws, allocate, size, params)
        return values

    def group(
        self, arrays: list[U8], rows: I64, draws: RowDraws, allocate: Allocate, size: tuple[int, int], params: I32
    ) -> dict[int, Any]:
        """Values of decoded images that come out at one size."""
        target = self.runner.target(allocate, len(rows), size, channels_last=self.inner_channels)
        outcome = empty_outcome(len(rows))
        self.runner.pixels(arrays, draws.take(rows), target, np.arange(len(rows)), outcome)
        params[rows] = outcome.params
        return self.pieces(target, outcome, rows)

    def pieces(self, target: Target, outcome: Outcome, rows: I64) -> dict[int, Any]:
        """The images of a target, or their errors, by the rows that they come from."""
        return {row: outcome.errors.get(place) or self.piece(target, place) for place, row in enumerate(rows.tolist())}

    def piece(self, target: Target, row: int) -> Any:
        """One image of a target in the form that the next op gets."""
        end = self.runner.span.end
        return image_of(target.raw[row], "pil") if end == "pil" else tensor_of(target.tensor[row], end)

    @property
    def inner_channels(self) -> bool:
        """Memory layout of single images as torchvision would leave them at this place."""
        table = self.runner.span.table
        return table is None or table.channels_last

    def common_size(self, column: ByteColumn) -> tuple[int, int] | None:
        """Height and width of every result; None where they differ, cannot be told, or a header claims too much.

        A row of too many pixels fails by itself later, without memory for all rows of its size.
        """
        geometry = self.runner.span.geometry
        if geometry.fixed_size is not None:
            return geometry.fixed_size
        if geometry.needs_boxes or not len(column.sizes) or self.runner.decoder.recipe.exif == "apply":
            return None
        headers, status = _native.probe(column.addresses, column.sizes)
        if status.any():
            return None
        sizes = {geometry.output_size(height, width) for height, width in np.unique(headers[:, :2], axis=0).tolist()}
        claimed = int((headers[:, 0].astype(np.int64) * headers[:, 1]).max())
        if len(sizes) > 1 or claimed > self.max_pixels:
            return None
        height, width = sizes.pop()
        return (height, width) if height * width <= self.max_pixels else None

    @property
    def max_pixels(self) -> int:
        """The limit on pixels, of an image and of what a resize makes of it."""
        return self.runner.decoder.recipe.limits.pixels

    def portions(self, column: ByteColumn) -> list[I64]:
        """All rows in portions, few enough that whole images of one fit into memory side by side.

        Images that leave the span at a fixed size never lie whole in memory together: they are one portion.
        """
        rows = np.arange(len(column.sizes))
        if self.runner.span.geometry.fixed_size is not None or not rows.size:
            return [rows]
        headers, status = _native.probe(column.addresses, column.sizes)
        pixels = np.where(status == _native.OK, headers[:, 0].astype(np.int64) * headers[:, 1], UNKNOWN_PIXELS)
        borders = np.flatnonzero(np.diff(pixels.cumsum() // PORTION_PIXELS)) + 1
        return np.split(rows, borders)


def untouched(height: int, width: int) -> tuple[int, ...]:
    """What the kernel would report of an image that stays as it is."""
    return height, width, 0, 0, height, width, 0, 1


def resized_too_large(size: tuple[int, int], max_pixels: int) -> ImageLimitError:
    """The error of an image that a resize of its shorter edge makes as long as no image is."""
    return ImageLimitError(
        "a resize to too many pixels was refused before memory was taken for it",
        got=f"{size[1]} x {size[0]} pixels",
        accepted=f"at most {max_pixels} (the `pixels` limit)",
        remedy=RAISE_LIMITS,
        stage="decode",
    )


def as_fault(value: Any, row: int) -> Any:
    """The value; an error as the `Fault` of this row."""
    return Fault(row=row, error=value) if isinstance(value, SampleError) else value
