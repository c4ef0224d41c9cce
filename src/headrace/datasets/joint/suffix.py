"""What is fused after the Python part, for whole samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from headrace.contracts import I32, I64, Bools, Fault
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.image_leaf import ImageLeaf
from headrace.datasets.joint.leaves import JointLeaves, pure
from headrace.recipes.joint import SampleForm
from headrace.recipes.joint.cropping import Cropping, croppings_of
from headrace.recipes.joint.members import size_of
from headrace.recipes.joint.rows import move_rows
from headrace.recipes.row_draws import RowDraws
from headrace.recipes.rows import Settled
from headrace.recipes.span import Span
from headrace.recipes.tensors import delivered

Split = Sequence[Sequence[Any] | None]
"""The leaves of each sample, None of those that failed."""


class JointSuffix:
    """Runs the last span of a recipe on whole samples.

    Args:
        span: What is done.
        leaves: The leaves of a sample.
        images: The image leaves, by place.
    """

    def __init__(self, span: Span, leaves: JointLeaves, images: Mapping[int, ImageLeaf]) -> None:
        self.span = span
        self.leaves = leaves
        self.images = images
        self.as_they_are = replace(leaves.form, members={})
        """The sample after the Python part: members are of their types already, in whatever format they are now."""

    def settle(self, batch: BatchRun, samples: list[Any], rows: I64) -> list[Any]:
        """Runs it on one of several portions, so that whole images need not wait for the rest of the batch."""
        split = self.leaves.split(samples)
        if split is None or not self.span.ops:
            return samples
        columns = self._made(batch, split, rows)
        for place, leaf in self.images.items():
            values = columns[place]
            settled = [value if isinstance(value, Settled) else Settled(value) for value in values]
            columns[place] = settled if self.span.steps else leaf.settle(batch, list(values), rows)
        return [
            None if row in batch.faults else self.leaves.shape.build([columns[place][at] for place in sorted(columns)])
            for at, row in enumerate(rows.tolist())
        ]

    def finish(self, batch: BatchRun, split: Split) -> list[Any]:
        """The leaves of the batch, as they are delivered."""
        columns = self._made(batch, split, np.arange(batch.num_rows))
        for place, leaf in self.images.items():
            if not isinstance(columns[place], torch.Tensor):
                columns[place] = leaf.finish(batch, list(columns[place]))
        return [
            columns[place] if place in self.images else [pure(value) for value in columns[place]]
            for place in sorted(columns)
        ]

    def _made(self, batch: BatchRun, split: Split, rows: I64) -> dict[int, Any]:
        """Columns of leaves, moved where the span moves more than one image and has not been done to these rows."""
        num_leaves = self.leaves.form.num_leaves
        columns: dict[int, Any] = {
            place: [None if parts is None else parts[place] for parts in split] for place in range(num_leaves)
        }
        alive = np.array(
            [parts is not None and row not in batch.faults for parts, row in zip(split, rows, strict=True)]
        )
        settled = any(isinstance(value, Settled) for place in self.images for value in columns[place])
        if not self.span.steps or settled or not alive.any():
            return columns
        return self._moved(batch, columns, rows, alive)

    def _moved(self, batch: BatchRun, columns: dict[int, Any], rows: I64, alive: Bools) -> dict[int, Any]:
        """Columns after a span that moves whole samples; images as tensors of the batch, or settled."""

        def redo(at: int) -> Mapping[int, Any] | None:
            return self._redone(batch, columns, at, int(rows[at]))

        found = found_form(self.leaves.form, columns, alive)
        if found is None:
            return self._one_by_one(columns, alive, redo)
        form, usual = found
        made = {place: [pure(value) for value in column] for place, column in columns.items()}
        croppings = croppings_of(self.span.geometry, form, made, batch.context.keys[rows])
        kernel = self._by_kernel(batch, columns, rows, alive, croppings)
        if kernel is None:
            return self._one_by_one(columns, alive, redo)
        images, params = kernel
        cropping = croppings.get(form.images[0])
        return move_rows(
            self.span,
            form,
            made | images,
            params,
            alive,
            redo,
            batch.context.allocate,
            usual=usual if cropping is None else usual & cropping.found,
            cropped=None if cropping is None else cropping.cropped,
        )

    def _by_kernel(
        self,
        batch: BatchRun,
        columns: Mapping[int, Any],
        rows: I64,
        alive: Bools,
        croppings: Mapping[int, Cropping],
    ) -> tuple[dict[int, Any], dict[int, I32]] | None:
        """Images and what the kernel reports of them, by place; None where it cannot do all of them in one size."""
        images, params = dict[int, Any](), dict[int, I32]()
        for place, leaf in self.images.items():
            values = [
                value if good else Fault(row=at, error=LookupError(leaf.name))
                for at, (value, good) in enumerate(zip(columns[place], alive.tolist(), strict=True))
            ]
            program, draws = leaf.program, RowDraws(batch.context.keys[rows], croppings.get(place))
            made = program.suffix.run_pixels(values, draws, batch.context.allocate, channels_last=program.channels_last)
            if made is None or made.params is None:
                return None
            images[place], params[place] = made.values, made.params
        return images, params

    def _one_by_one(self, columns: dict[int, Any], alive: Bools, redo: Any) -> dict[int, Any]:
        """Every row through torchvision; images come out settled."""
        after = {place: list(column) for place, column in columns.items()}
        for at in np.flatnonzero(alive).tolist():
            for place, value in (redo(at) or {}).items():
                after[place][at] = Settled(value) if place in self.images else value
        return dict(after)

    def _redone(self, batch: BatchRun, columns: Mapping[int, Any], at: int, row: int) -> Mapping[int, Any] | None:
        """The leaves that torchvision makes of a sample; None where it raises, which is noted."""
        parts = [columns[place][at] for place in sorted(columns)]
        try:
            made = self.leaves.through(self.span.ops, parts, self.as_they_are, int(batch.context.keys[row]))
        except Exception as error:  # noqa: BLE001 - whatever torchvision raises belongs to this sample
            self.leaves.note(batch, row, error, parts)
            return None
        return {place: delivered(value) for place, value in enumerate(made)}


def found_form(form: SampleForm, columns: Mapping[int, Any], alive: Bools) -> tuple[SampleForm, Bools] | None:
    """The sample as the Python part left it, and which rows are like that.

    A transform may have changed the format of boxes: what the first row shows counts for the batch, and rows that are
    otherwise are left to torchvision. None where a member is no longer of its `tv_tensors` type.
    """
    usual, members = alive.copy(), {}
    first = int(np.flatnonzero(alive)[0])
    canvases = [size_of(value) for value in columns[form.images[0]]]
    for place, member in form.members.items():
        shown = columns[place][first]
        if not isinstance(shown, torch.Tensor) or type(shown) is torch.Tensor:
            return None
        traits = traits_of(shown)
        members[place] = replace(member, format=traits[1], clamping=traits[2]) if member.kind == "boxes" else member
        usual &= [
            traits_of(value) == traits and getattr(value, "canvas_size", canvas) == canvas
            for value, canvas in zip(columns[place], canvases, strict=True)
        ]
    return replace(form, members=members), usual


def traits_of(member: Any) -> tuple[Any, Any, Any]:
    """The type of a member, and of boxes their format and clamping."""
    found = getattr(member, "format", None)
    return type(member), getattr(found, "value", None), getattr(member, "clamping_mode", None)
