"""What decides the random geometry of rows: their keys, and their boxes where crops depend on these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from headrace.contracts import I32, I64, U64
from headrace.recipes.geometry import Geometry
from headrace.recipes.joint.cropping import Cropping


@dataclass(frozen=True, slots=True)
class RowDraws:
    """Of some rows of a batch."""

    keys: U64
    """Key of each row, shape (rows,)."""
    cropping: Cropping | None = None
    """Decides crops by the boxes of the batch."""
    rows: I64 | None = None
    """Which rows of the batch these are, shape (rows,); None: all, in order."""

    def take(self, rows: I64) -> RowDraws:
        """Of some of these rows."""
        return RowDraws(self.keys[rows], self.cropping, rows if self.rows is None else self.rows[rows])

    def windows(self, sizes: Callable[[], I64]) -> I32 | None:
        """Top, left, height and width of the crop of each row, shape (rows, 4); None where the kernel draws it.

        Args:
            sizes: Height and width of the image of each row, shape (rows, 2), zeros where they are not known.
        """
        if self.cropping is None:
            return None
        rows = np.arange(len(self.keys)) if self.rows is None else self.rows
        return self.cropping.windows(rows, sizes())


def output_sizes(geometry: Geometry, draws: RowDraws, sizes: I64) -> list[tuple[int, int]]:
    """Height and width of the result for each of these images.

    Args:
        geometry: What is done.
        draws: The random numbers of the rows.
        sizes: Height and width of each image, shape (rows, 2).
    """
    windows = draws.windows(lambda: sizes)
    resized = sizes if windows is None else windows[:, 2:]
    return [geometry.output_size(height, width) for height, width in resized.tolist()]
