"""The leaves of whole samples between codecs, spans and the user's transform."""

from __future__ import annotations

from collections.abc import Collection, Sequence, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from headrace.contracts import Bools
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.fields import SampleShape
from headrace.datasets.joint.absent_images import all_lack, without_images
from headrace.datasets.undecoded import remedy_of_bytes
from headrace.datasets.values import python_values
from headrace.errors import TransformError
from headrace.recipes.joint import SampleForm
from headrace.recipes.joint.members import canvas_of, size_of, wrapped
from headrace.recipes.op import Op
from headrace.recipes.reference import apply_ops, is_raised_by


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What an error of a transform is about."""

    place: int
    """The leaf."""
    got: str
    remedy: str


class JointLeaves:
    """Names and places of the leaves of one dataset's samples.

    Args:
        shape: The leaves.
        form: What they are to a transform.
        labels: Places of the leaves that go with the boxes.
    """

    def __init__(self, shape: SampleShape, form: SampleForm, labels: Collection[int] = ()) -> None:
        self.shape = shape
        self.form = form
        self.labels = sorted(labels)
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
        about = self.about(error, parts) if parts is not None else None
        batch.faults.add_transform(row, error, self.main if about is None else self.names[about.place])
        noted = batch.faults.errors[row]
        if about is not None and isinstance(noted, TransformError):
            noted.got, noted.remedy = about.got, about.remedy

    def about(self, error: Exception, parts: Sequence[Any]) -> About | None:
        """The leaf that an error of a transform is about; None where that cannot be told."""
        if self.labels and is_raised_by(error, "SanitizeBoundingBoxes"):
            return self.about_labels(parts)
        place = self.unlike_canvas(parts)
        return self.about_bytes(error, parts) if place is None else self.about_size(place, parts)

    def about_size(self, place: int, parts: Sequence[Any]) -> About:
        """An image or mask that is not of the size of the others."""
        first = next(iter((*self.form.images, *self.form.places("mask"))))
        beside = "an image" if self.form.images else "a mask"
        return About(
            place=place,
            got=f"{size_text(parts[place])} pixels beside {beside} of {size_text(parts[first])}",
            remedy="Random crops need images and masks of one size: repair the sample, or resize it first",
        )

    def about_bytes(self, error: Exception, parts: Sequence[Any]) -> About | None:
        """A leaf that is left as bytes, where the error speaks of bytes, or of an image and there is none."""
        if self.form.images and "bytes" not in str(error):
            return None
        place = next((place for place, value in enumerate(parts) if isinstance(value, bytes)), None)
        if place is None:
            return None
        remedy = remedy_of_bytes(self.names[place], self.shape.entries[place].origin)
        return About(place=place, got="bytes", remedy=remedy)

    def about_labels(self, parts: Sequence[Any]) -> About:
        """The labels that do not go with the boxes of a sample."""
        boxes = self.form.places("boxes")[0]
        num_boxes = length_of(parts[boxes])
        unlike = [place for place in self.labels if length_of(parts[place]) != num_boxes]
        place = (unlike or self.labels)[0]
        num_labels = length_of(parts[place])
        return About(
            place=place,
            got=f"{num_boxes} in {self.names[boxes]!r} and {num_labels} in {self.names[place]!r} of the sample",
            remedy="Each box needs its label: repair the sample, let a transform that drops boxes drop their labels "
            'too, or name what goes with the boxes in labels_getter=; on_error="skip" leaves such samples out',
        )

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


def length_of(value: Any) -> int | None:
    """How many things a leaf holds; None where it holds none by number."""
    return len(value) if isinstance(value, Sized) and getattr(value, "ndim", None) != 0 else None


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
