"""Runs one span in the kernel, and what the kernel leaves through Pillow and torchvision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from headrace import _native
from headrace.contracts import I32, I64, U8, U64, Allocate, ByteColumn, Fault
from headrace.errors import SampleError
from headrace.recipes.full_decode import Decoder, refusal_of
from headrace.recipes.kernel_geometry import kernel_geometry
from headrace.recipes.reference import apply_ops
from headrace.recipes.rows import Rows
from headrace.recipes.span import Span
from headrace.recipes.tensors import Target, allocate_target, delivered, image_of, pil_pixels

NUM_PARAMS = 8


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What became of the rows of one target; filled by the runner."""

    params: I32
    """Shape (rows, 8), see `BatchReport.params`."""
    errors: dict[int, Exception] = field(default_factory=dict)
    """By row of the target."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanRunner:
    """Writes the images of a batch into a target."""

    span: Span
    pool: _native.Pool
    decoder: Decoder

    def target(self, allocate: Allocate, num_rows: int, size: tuple[int, int], *, channels_last: bool) -> Target:
        """Memory for the span's results, images of this (height, width)."""
        table = self.span.table
        dtype = torch.uint8 if table is None else table.dtype
        return allocate_target(allocate, (num_rows, 3, *size), dtype, channels_last=channels_last)

    def jpegs(self, column: ByteColumn, rows: I64, keys: U64, target: Target) -> Outcome:
        """Decodes rows of a column into the same rows of the target."""
        outcome = empty_outcome(len(target.raw))
        if not rows.size:
            return outcome
        recipe = self.decoder.recipe
        report = _native.run_jpegs(
            self.pool,
            kernel_geometry(self.span.geometry, exif=recipe.exif, dct_scaling=recipe.dct_scaling, limits=recipe.limits),
            column.addresses[rows],
            column.sizes[rows],
            keys[rows],
            target.raw,
            rows,
            lut=self.lut,
            channels_last=target.channels_last,
        )
        outcome.params[rows] = report.params
        self.rescue(column, rows, keys, target, report, outcome)
        return outcome

    def rescue(
        self, column: ByteColumn, rows: I64, keys: U64, target: Target, report: _native.BatchReport, outcome: Outcome
    ) -> None:
        """Gives the rows that the kernel could not decode to Pillow, and their pixels back to the kernel."""
        decoded: dict[int, U8] = {}
        for index in report.status.nonzero()[0]:
            row = int(rows[index])
            refused = refusal_of(int(report.status[index]), report.message(int(index)))
            image = refused or self.decoder.image(column, row)
            if isinstance(image, SampleError):
                outcome.errors[row] = image
            else:
                decoded[row] = pil_pixels(image)
        if decoded:
            left = np.fromiter(decoded, dtype=np.int64)
            self.pixels(list(decoded.values()), left, keys[left], target, outcome)

    def pixels(self, arrays: Sequence[U8], rows: I64, keys: U64, target: Target, outcome: Outcome) -> None:
        """Writes decoded images, C-contiguous arrays of shape (H, W, 3), into these rows of the target."""
        report = _native.run_pixels(
            self.pool,
            kernel_geometry(self.span.geometry),
            np.array([array.ctypes.data for array in arrays], dtype=np.uint64),
            np.array([array.shape[0] for array in arrays], dtype=np.int32),
            np.array([array.shape[1] for array in arrays], dtype=np.int32),
            np.array([array.strides[0] for array in arrays], dtype=np.int64),
            keys,
            target.raw,
            rows,
            lut=self.lut,
            channels_last=target.channels_last,
        )
        outcome.params[rows] = report.params
        for index in report.status.nonzero()[0]:
            row, key = int(rows[index]), int(keys[index])
            try:
                self.reference(arrays[int(index)], key, target.tensor[row])
            except SampleError as error:
                outcome.errors[row] = error

    def reference(self, pixels: U8, key: int, into: torch.Tensor) -> None:
        """Makes one row with torchvision: where an image is smaller than its crop, it pads, or raises."""
        into.copy_(delivered(apply_ops(self.span.ops, image_of(pixels, self.span.start), key)))

    @property
    def lut(self) -> Any:
        """The map of channel values for the kernel, None where values stay as they are."""
        table = self.span.table
        return None if table is None or table.is_identity else table.values


def empty_outcome(num_rows: int) -> Outcome:
    """An outcome of rows of which nothing is known yet."""
    return Outcome(params=np.zeros((num_rows, NUM_PARAMS), dtype=np.int32))


def rows_of(target: Target, outcome: Outcome) -> Rows:
    """The batch of a target, with zeros where there is an error."""
    for row in outcome.errors:
        target.raw[row] = 0
    return Rows(
        values=target.tensor,
        faults=tuple(
            Fault(row=row, error=error) for row, error in sorted(outcome.errors.items(), key=lambda pair: pair[0])
        ),
        params=outcome.params,
    )
