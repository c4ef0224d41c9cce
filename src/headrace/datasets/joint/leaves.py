"""The leaves of whole samples between codecs, spans and the user's transform."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from headrace.contracts import Bools
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.fields import SampleShape
from headrace.datasets.joint.absent_images import all_lack, without_images
from headrace.datasets.values import python_values
from headrace.errors import TransformError
from headrace.recipes.joint import SampleForm
from headrace.recipes.joint.members import canvas_of, size_of, wrapped
from headrace.recipes.op import Op
from headrace.recipes.reference import apply_ops


class JointLeaves:
    """Names and places of the leaves of one dataset's samples.

    Args:
        shape: The leaves.
        form: What they are to a transform.
    """

    def __init__(self, shape: SampleShape, form: SampleForm) -> None:
        self.shape = shape
        self.form = form
        self.names = [entry.name for entry in shape.entries]
        self.main = self.names[form.images[0] if form.images else 0]
        """The leaf that faults of the transform are noted under."""

    def columns(self, values: Sequence[Any]) -> dict[int, list[Any]]:
        """The leaves that are no images, by place; arrays as tensors, since ToImage takes every array for an image."""
        return {
            place: [as_tensor(value) for value in python_values(column)]
            for place, column in enumerate(values)
            if column is not None
        }

    def through(self, ops: Sequence[Op], parts: Sequence[Any], form: SampleForm, key: int) -> list[Any]:
        """The leaves that torchvision's own transforms make of those of one row.

        Raises:
            TransformError: A transform raised.
        """
        made = self.shape.leaves(self.sample_through(ops, parts, form, key))
        if made is None:
            raise TypeError("a transform of torchvision changed the structure of the sample")
        return made

    def sample_through(self, ops: Sequence[Op], parts: Sequence[Any], form: SampleForm, key: int) -> Any:
        """What transforms make of the sample of these leaves, in Python.

        Raises:
            TransformError: A transform raised.
        """
        return self.run(ops, self.shape.build(wrapped(parts, form)), key, lacks_images=all_lack(parts, form))

    def run(self, ops: Sequence[Op], sample: Any, key: int, *, lacks_images: bool) -> Any:
        """What transforms make of a sample, in Python.

        Raises:
            TransformError: A transform raised.
        """
        return apply_ops(without_images(ops, self.shape, self.form) if lacks_images else ops, sample, key)

    def split(self, samples: Sequence[Any]) -> list[list[Any] | None] | None:
        """The leaves of each sample, None of those that failed; None for all where a sample has another shape."""
        split = [None if sample is None else self.shape.leaves(sample) for sample in samples]
        lost = any(parts is None and sample is not None for parts, sample in zip(split, samples, strict=True))
        return None if lost else split

    def note(self, batch: BatchRun, row: int, error: Exception, parts: Sequence[Any] | None) -> None:
        """Notes what a transform raised, under the leaf that it is about as far as that can be told."""
        place = self.unlike_canvas(parts) if parts is not None else None
        if place is None or parts is None:
            batch.faults.add_transform(row, error, self.main)
            return
        batch.faults.add_transform(row, error, self.names[place])
        noted = batch.faults.errors[row]
        if isinstance(noted, TransformError):
            noted.got = f"{size_text(parts[place])} pixels beside an image of {size_text(parts[self.form.images[0]])}"
            noted.remedy = "Random crops need images and masks of one size: repair the sample, or resize it first"

    def unlike_canvas(self, parts: Sequence[Any]) -> int | None:
        """The place of the first image or mask of another size than the first image."""
        canvas = canvas_of(parts, self.form)
        for place in (*self.form.images[1:], *self.form.places("mask")):
            size = size_of(parts[place])
            if size is not None and size != canvas:
                return place
        return None


def as_tensor(value: Any) -> Any:
    """An array of numbers as a tensor over the same memory; anything else as it is."""
    return torch.from_numpy(value) if isinstance(value, np.ndarray) and value.dtype.kind in "biuf" else value


def size_text(value: Any) -> str:
    """Height and width as an error says them."""
    size = size_of(value)
    return "?" if size is None else f"{size[0]} x {size[1]}"


def alive_rows(batch: BatchRun) -> Bools:
    """False for rows with a fault, shape (rows,)."""
    alive = np.ones(batch.num_rows, dtype=np.bool_)
    alive[list(batch.faults.bad_rows())] = False
    return alive


def pure(value: Any) -> Any:
    """Masks, boxes and points as pure tensors; images and everything else as they are."""
    if not isinstance(value, torch.Tensor) or type(value) is torch.Tensor:
        return value
    # torchvision is optional and slow to import; only its transforms give tensors of such types
    from torchvision import tv_tensors

    is_member = isinstance(value, (tv_tensors.Mask, tv_tensors.BoundingBoxes, tv_tensors.KeyPoints))
    return value.as_subclass(torch.Tensor) if is_member else value
