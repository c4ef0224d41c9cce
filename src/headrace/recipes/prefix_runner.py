"""The prefix of a recipe: from encoded bytes to a finished batch, or to what the Python part gets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace import _native
from headrace.contracts import I64, U8, U64, Allocate, ByteColumn, Fault
from headrace.errors import SampleError
from headrace.recipes.full_decode import missing_rows, present_rows
from headrace.recipes.rows import Rows
from headrace.recipes.span_runner import SpanRunner, empty_outcome, rows_of
from headrace.recipes.tensors import Target, image_of, tensor_of


@dataclass(frozen=True, slots=True)
class PrefixRunner:
    """Runs the first span on columns of bytes."""

    runner: SpanRunner

    def run_whole(self, column: ByteColumn, keys: U64, allocate: Allocate, *, channels_last: bool) -> Rows | None:
        """The batch in one call of the kernel, straight into leased memory; None where sizes may differ."""
        size = self.common_size(column)
        if size is None:
            return None
        target = self.runner.target(allocate, len(keys), size, channels_last=channels_last)
        outcome = self.runner.jpegs(column, present_rows(column), keys, target)
        outcome.errors.update(missing_rows(column))
        return rows_of(target, outcome)

    def run_apart(self, column: ByteColumn, keys: U64, allocate: Allocate, *, by_kernel: bool) -> list[Any]:
        """One value a row, of the form in which the span ends, or a `Fault`.

        Args:
            column: The encoded images.
            keys: Key of each sample, shape (rows,).
            allocate: Where memory comes from; tensors given back here lie in it.
            by_kernel: False has Pillow decode everything.
        """
        if not by_kernel:
            values = {int(row): self.runner.decoder.image(column, int(row)) for row in present_rows(column)}
        else:
            size = self.common_size(column)
            values = self.varied(column, keys, allocate) if size is None else self.alike(column, keys, allocate, size)
        values.update(missing_rows(column))
        return [
            Fault(row=row, error=values[row]) if isinstance(values[row], SampleError) else values[row]
            for row in range(len(keys))
        ]

    def alike(self, column: ByteColumn, keys: U64, allocate: Allocate, size: tuple[int, int]) -> dict[int, Any]:
        """Values of images that all come out at one size: one call of the kernel."""
        rows = present_rows(column)
        target = self.runner.target(allocate, len(keys), size, channels_last=self.inner_channels)
        outcome = self.runner.jpegs(column, rows, keys, target)
        return {int(row): outcome.errors.get(int(row)) or self.piece(target, int(row)) for row in rows}

    def varied(self, column: ByteColumn, keys: U64, allocate: Allocate) -> dict[int, Any]:
        """Values of images whose sizes differ: all are decoded, then each group of one size goes through."""
        rows = present_rows(column)
        values: dict[int, Any] = dict(zip(rows.tolist(), self.runner.decoder.pixels(column, rows), strict=True))
        whole = {row: pixels for row, pixels in values.items() if not isinstance(pixels, SampleError)}
        span = self.runner.span
        if span.geometry.is_empty and span.table is None:
            return values | {row: image_of(pixels, "pil") for row, pixels in whole.items()}
        groups: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
        for row, pixels in whole.items():
            groups[span.geometry.output_size(*pixels.shape[:2])].append(row)
        for size, members in groups.items():
            values |= self.group([whole[row] for row in members], np.array(members), keys, allocate, size)
        return values

    def group(
        self, arrays: list[U8], rows: I64, keys: U64, allocate: Allocate, size: tuple[int, int]
    ) -> dict[int, Any]:
        """Values of decoded images that come out at one size."""
        target = self.runner.target(allocate, len(rows), size, channels_last=self.inner_channels)
        outcome = empty_outcome(len(rows))
        self.runner.pixels(arrays, np.arange(len(rows)), keys[rows], target, outcome)
        return {int(row): outcome.errors.get(place) or self.piece(target, place) for place, row in enumerate(rows)}

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
        """Height and width of every result, None where they differ or cannot be told from the headers."""
        geometry = self.runner.span.geometry
        if geometry.fixed_size is not None:
            return geometry.fixed_size
        rows = present_rows(column)
        if not rows.size or self.runner.decoder.recipe.exif == "apply":
            return None
        headers, status = _native.probe(column.addresses[rows], column.sizes[rows])
        if status.any():
            return None
        sizes = {geometry.output_size(int(height), int(width)) for height, width in np.unique(headers[:, :2], axis=0)}
        return sizes.pop() if len(sizes) == 1 else None
