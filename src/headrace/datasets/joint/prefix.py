"""What is fused with decoding, for whole samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from headrace.contracts import I32, I64
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.image_leaf import ImageLeaf
from headrace.datasets.joint.leaves import JointLeaves, alive_rows, pure
from headrace.recipes.joint.cropping import croppings_of
from headrace.recipes.joint.rows import Redo, move_rows
from headrace.recipes.span import Span
from headrace.recipes.tensors import delivered

Leaves = Mapping[int, Sequence[Any]]
"""Columns of leaves by place, one value a row of the batch."""


class JointPrefix:
    """Runs the first span of a recipe on whole samples.

    Args:
        span: What is done.
        leaves: The leaves of a sample.
        images: The image leaves, by place.
    """

    def __init__(self, span: Span, leaves: JointLeaves, images: Mapping[int, ImageLeaf]) -> None:
        self.span = span
        self.leaves = leaves
        self.images = images

    def decide(self, batch: BatchRun, columns: Leaves) -> None:
        """Notes in the batch what decides the crops of its images where these depend on boxes."""
        found = croppings_of(self.span.geometry, self.leaves.form, columns, batch.context.keys)
        batch.croppings.update({self.images[place].name: cropping for place, cropping in found.items()})

    def run_whole(self, batch: BatchRun, columns: Leaves) -> dict[int, Any] | None:
        """The leaves of a batch that takes one native call an image, as they are delivered; None where it cannot be."""
        if not self.images or any(batch.lacking(leaf.name) for leaf in self.images.values()):
            return None
        made, params = dict[int, Any](columns), dict[int, I32]()
        for place, leaf in self.images.items():
            rows = leaf.whole(batch)
            if rows is None or rows.params is None:
                return None
            made[place], params[place] = rows.values, rows.params

        def redo(row: int) -> Mapping[int, Any] | None:
            found = self._redone(batch, columns, row)
            return None if found is None else {place: delivered(value) for place, value in found.items()}

        return self._moved(batch, made, params, np.arange(batch.num_rows), redo)

    def run_apart(
        self, batch: BatchRun, columns: Leaves, rows: I64, images: Sequence[list[Any]], params: Sequence[I32]
    ) -> list[Sequence[Any]]:
        """All leaves of some rows as the Python part gets them, members not yet wrapped.

        Args:
            batch: The batch.
            columns: The leaves that are no images.
            rows: Which rows.
            images: Of each image leaf what the kernel made of these rows.
            params: Of each image leaf what it reports, shape (rows of the batch, 8).
        """
        made: dict[int, Any] = {place: [column[row] for row in rows] for place, column in columns.items()}
        made |= dict(zip(self.images, images, strict=True))
        if self.span.steps:
            reports = {place: found[rows] for place, found in zip(self.images, params, strict=True)}
            numbers = rows.tolist()

            def redo(at: int) -> Mapping[int, Any] | None:
                found = self._redone(batch, columns, numbers[at])
                return None if found is None else {place: pure(value) for place, value in found.items()}

            made = self._moved(batch, made, reports, rows, redo)
        return [made[place] for place in range(len(made))]

    def _moved(
        self, batch: BatchRun, leaves: Leaves, params: Mapping[int, I32], rows: I64, redo: Redo
    ) -> dict[int, Any]:
        """The leaves of some rows after what the kernel did to their images."""
        cropping = batch.croppings.get(self.leaves.main)
        return move_rows(
            self.span,
            self.leaves.form,
            leaves,
            params,
            alive_rows(batch)[rows],
            redo,
            batch.context.allocate,
            usual=None if cropping is None else cropping.found[rows],
            cropped=None if cropping is None else cropping.cropped[rows],
        )

    def _redone(self, batch: BatchRun, columns: Leaves, row: int) -> dict[int, Any] | None:
        """The leaves that torchvision makes of a row; None where it raises, which is noted."""
        parts: list[Any] | None = None
        try:
            images = {place: leaf.as_decoded(batch, row) for place, leaf in self.images.items()}
            whole = {place: column[row] for place, column in columns.items()} | images
            parts = [whole[place] for place in range(len(whole))]
            made = self.leaves.through(self.span.ops, parts, self.leaves.form, int(batch.context.keys[row]))
        except Exception as error:  # noqa: BLE001 - whatever torchvision raises belongs to this sample
            self.leaves.note(batch, row, error, parts)
            return None
        return dict(enumerate(made))
