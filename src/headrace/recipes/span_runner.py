"""Runs one span in the kernel, and what the kernel leaves through Pillow and torchvision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from headrace import _native
from headrace.contracts import I32, I64, U8, U64, Allocate, ByteColumn, Fault
from headrace.errors import SampleError
from headrace.recipes.encoded import run_on
from headrace.recipes.full_decode import Decoder
from headrace.recipes.kernel_geometry import kernel_geometry
from headrace.recipes.reference import apply_ops
from headrace.recipes.row_draws import RowDraws
from headrace.recipes.rows import Rows
from headrace.recipes.span import Span
from headrace.recipes.tensors import Target, allocate_target, delivered, image_of

NUM_PARAMS = 8


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of the rows of one target; filled by the runner."""

    params: I32
    """Shape (rows, 8), see `BatchReport.params`."""
    errors: dict[int, Exception] = field(default_factory=dict)
    """By place in the target."""


class SpanRunner:
    """Writes the images of a batch into a target.

    Args:
        span: What is done.
        pool: Threads of the kernel.
        decoder: Decodes what the kernel leaves.
    """

    def __init__(self, *, span: Span, pool: _native.Pool, decoder: Decoder) -> None:
        self.span = span
        self.pool = pool
        self.decoder = decoder
        # What the kernel is told is the same for every batch.
        recipe, table = decoder.recipe, span.table
        self.for_pixels = kernel_geometry(span.geometry)
        self.for_jpegs = kernel_geometry(
            span.geometry, exif=recipe.exif, dct_scaling=recipe.dct_scaling, limits=recipe.limits
        )
        self.lut = None if table is None or table.is_identity else table.values

    def target(self, allocate: Allocate, num_rows: int, size: tuple[int, int], *, channels_last: bool) -> Target:
        """Memory for the span's results, images of this (height, width)."""
        table = self.span.table
        dtype = torch.uint8 if table is None else table.dtype
        return allocate_target(allocate, (num_rows, 3, *size), dtype, channels_last=channels_last)

    def jpegs(self, column: ByteColumn, draws: RowDraws, target: Target, places: I64 | None = None) -> Outcome:
        """Decodes the images of a column, all of them present, into these places of the target.

        Args:
            column: The encoded images.
            draws: Their random numbers.
            target: Where they go.
            places: Row of the target of each image; None: one after another.
        """
        windows = draws.windows(lambda: self.decoder.sizes(column))

        def call(encoded: U64 | _native.CachedRanges) -> _native.BatchReport:
            return _native.run_jpegs(
                self.pool,
                self.for_jpegs,
                encoded,
                column.sizes,
                draws.keys,
                target.raw,
                places,
                lut=self.lut,
                boxes=windows,
                channels_last=target.channels_last,
            )

        report = run_on(column, call, lambda report: [report])
        return self.finished(report, column, draws, target, places)

    def finished(
        self, report: _native.BatchReport, column: ByteColumn, draws: RowDraws, target: Target, places: I64 | None
    ) -> Outcome:
        """What became of images that the kernel has decoded; what it left goes through Pillow and torchvision now.

        Args:
            report: What the kernel says.
            column: The encoded images, as in `jpegs`, and so on.
            draws: Their random numbers.
            target: Where they went.
            places: Row of the target of each image; None: one after another.
        """
        failed = report.failed
        if places is None and not failed:
            return Outcome(params=report.params)
        places = np.arange(len(draws.keys)) if places is None else places
        outcome = empty_outcome(len(target.raw))
        outcome.params[places] = report.params
        decoded: dict[int, U8] = {}
        for index in failed:
            pixels = self.decoder.left_over(column, index, int(report.status[index]), report.message(index))
            if isinstance(pixels, SampleError):
                outcome.errors[int(places[index])] = pixels
            else:
                decoded[index] = pixels
        if decoded:
            left = np.fromiter(decoded, dtype=np.int64)
            self.pixels(list(decoded.values()), draws.take(left), target, places[left], outcome)
        return outcome

    def pixels(self, arrays: Sequence[U8], draws: RowDraws, target: Target, places: I64, outcome: Outcome) -> None:
        """Writes decoded images, C-contiguous arrays of shape (H, W, 3), into these places of the target."""
        sizes = sizes_of(arrays)
        report = _native.run_pixels(
            self.pool,
            self.for_pixels,
            np.array([array.ctypes.data for array in arrays], dtype=np.uint64),
            sizes[:, 0].astype(np.int32),
            sizes[:, 1].astype(np.int32),
            np.array([array.strides[0] for array in arrays], dtype=np.int64),
            draws.keys,
            target.raw,
            places,
            lut=self.lut,
            boxes=draws.windows(lambda: sizes),
            channels_last=target.channels_last,
        )
        outcome.params[places] = report.params
        for index in report.failed:
            place = int(places[index])
            try:
                self.reference(arrays[index], int(draws.keys[index]), target.tensor[place])
            except SampleError as error:
                outcome.errors[place] = error

    def reference(self, pixels: U8, key: int, into: torch.Tensor) -> None:
        """Makes one row with torchvision: where an image is smaller than its crop, it pads, or raises."""
        into.copy_(delivered(apply_ops(self.span.image_ops, image_of(pixels, self.span.start), key)))


def sizes_of(arrays: Sequence[U8]) -> I64:
    """Height and width of images of shape (H, W, 3), shape (images, 2)."""
    return np.array([array.shape[:2] for array in arrays], dtype=np.int64).reshape(-1, 2)


def empty_outcome(num_rows: int) -> Outcome:
    """An outcome of rows of which nothing is known yet."""
    return Outcome(params=np.zeros((num_rows, NUM_PARAMS), dtype=np.int32))


def rows_of(target: Target, outcome: Outcome) -> Rows:
    """The batch of a target, with zeros where there is an error."""
    if not outcome.errors:
        return Rows(values=target.tensor, params=outcome.params)
    faults = tuple(Fault(row=row, error=outcome.errors[row]) for row in sorted(outcome.errors))
    for fault in faults:
        target.raw[fault.row] = 0
    return Rows(values=target.tensor, faults=faults, params=outcome.params)
