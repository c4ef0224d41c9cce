"""The suffix of a recipe: from what the Python part gave to a finished batch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from PIL import Image

from headrace.contracts import U8, Allocate, Fault
from headrace.recipes.pointwise import Form
from headrace.recipes.row_draws import RowDraws, output_sizes
from headrace.recipes.rows import Rows
from headrace.recipes.span_runner import SpanRunner, empty_outcome, rows_of, sizes_of


@dataclass(frozen=True, slots=True)
class SuffixRunner:
    """Runs the last span on images in memory."""

    runner: SpanRunner

    def run_pixels(
        self, values: Sequence[Any], draws: RowDraws, allocate: Allocate, *, channels_last: bool
    ) -> Rows | None:
        """The batch in one call of the kernel.

        Args:
            values: One image a row, or a `Fault`.
            draws: Random numbers of each row.
            allocate: Where the memory comes from.
            channels_last: Memory layout of the batch.

        Returns:
            The batch; None where an image is not of the kind that the span was made for, or sizes differ.
        """
        faults = [value for value in values if isinstance(value, Fault)]
        live = {row: value for row, value in enumerate(values) if not isinstance(value, Fault)}
        arrays = [kernel_pixels(value, self.runner.span.start) for value in live.values()]
        whole = [pixels for pixels in arrays if pixels is not None]
        rows, geometry = np.fromiter(live, dtype=np.int64), self.runner.span.geometry
        if len(whole) != len(live) or (geometry.needs_boxes and draws.cropping is None):
            return None
        there = draws.take(rows)
        sizes = set(output_sizes(geometry, there, sizes_of(whole)))
        if len(sizes) != 1:
            return None
        target = self.runner.target(allocate, len(values), sizes.pop(), channels_last=channels_last)
        outcome = empty_outcome(len(values))
        self.runner.pixels(whole, there, target, rows, outcome)
        outcome.errors.update({fault.row: fault.error for fault in faults})
        return rows_of(target, outcome)


def kernel_pixels(value: Any, form: Form) -> U8 | None:
    """Pixels of shape (H, W, 3), C-contiguous, if the value is an 8-bit RGB image of this form, else None."""
    if isinstance(value, Image.Image):
        return np.asarray(value) if form == "pil" and value.mode == "RGB" else None
    if form == "pil" or not isinstance(value, torch.Tensor) or value.dtype is not torch.uint8:
        return None
    if value.ndim != len("CHW") or value.shape[0] != len("RGB") or value.device.type != "cpu":
        return None
    return np.ascontiguousarray(value.as_subclass(torch.Tensor).detach().permute(1, 2, 0).numpy())
