"""Transforms of albumentations inside of a dataset: numpy arrays by name, and the numbers of the sample."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Iterator, Mapping
from typing import Any

from headrace.errors import OptionError
from headrace.recipes.numpy_parts import Part, coordinate_part, label_part, pixel_part, size_of_pixels
from headrace.recipes.randomness import is_keyed, rng

TARGETS = ("image", "mask", "masks", "bboxes", "keypoints")
"""What albumentations calls the parts of a sample; label fields and additional targets come to them."""

BOX_FORMATS = {"albumentations": "XYXY", "coco": "XYWH", "pascal_voc": "XYXY", "yolo": "CXCYWH"}
"""torchvision's names of the box formats of albumentations."""


class Albumentations:
    """Makes a transform of a dataset out of one of albumentations.

    Those take numpy arrays by name (`transform(image=array)`), draw from generators of their own, and keep what they
    draw in themselves. Here the sample is converted there and back, the numbers are those of the sample, as for
    `headrace.rng()`, and each thread has a copy. So a sample is augmented alike in every engine and after a resume.

    A dict is passed by its names: those that albumentations knows (`image`, `mask`, `bboxes`, `keypoints`, label
    fields, additional targets) go in and come out, others stay. Of a tuple the first part is the image, and the rest
    stays; any other sample is an image. A part whose value is None stays None; without an image nothing is done.

    Each part comes out as what it was: a PIL image, a tensor (channels first, also as `tv_tensors`, boxes in their own
    format and with the new canvas) or an array; boxes, points and labels of their type also where none is left. What
    the transform changes on purpose stays: after `Normalize` images are float32, after `ToTensorV2` tensors. Values
    that no PIL image holds come out as a tensor, channels first.

    Args:
        transform: A `Compose`, or a single transform, of albumentations 1.4.19 or later.

    Raises:
        OptionError: It is neither.
    """

    def __init__(self, transform: Any) -> None:
        if not callable(transform) or not hasattr(transform, "set_random_state"):
            raise OptionError(
                "Albumentations takes a transform of albumentations",
                got=type(transform).__name__,
                accepted="a Compose or a transform that has set_random_state (albumentations 1.4.19 or later)",
            )
        self.transform = transform
        self.kinds = kinds_of(transform)
        """What albumentations takes each name for: one of `TARGETS`, or a label."""
        self.box_format = box_format_of(transform)
        self.masks_turn = any(getattr(one, "transpose_mask", False) for one in walk(transform))
        self.own = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """Copies for threads stay here."""
        return {name: value for name, value in self.__dict__.items() if name != "own"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, own=threading.local())

    def __call__(self, sample: Any) -> Any:
        """The sample, transformed.

        Args:
            sample: A dict, a tuple that begins with an image, or an image: PIL, an array or a tensor.
        """
        if isinstance(sample, Mapping):
            return {**sample, **self.apply({name: sample[name] for name in sample if name in self.kinds})}
        if isinstance(sample, tuple):
            return (self.apply({"image": sample[0]})["image"], *sample[1:])
        return self.apply({"image": sample})["image"]

    def apply(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """The parts of a sample that albumentations knows, by its names."""
        given = {name: self.part(name, value) for name, value in parts.items() if value is not None}
        if "image" not in given:
            return dict(parts)
        transform = self.of_this_thread()
        forget_labels(transform)
        if is_keyed():
            numbers = rng()
            transform.set_random_state(numbers, random.Random(int(numbers.integers(2**62))))
        found = transform(**{name: part.array for name, part in given.items()})
        size = size_of_pixels(found["image"])
        return {**found, **{name: part.back(found[name], size) for name, part in given.items()}}

    def part(self, name: str, value: Any) -> Part:
        """One part of a sample, as its kind is converted."""
        match self.kinds[name]:
            case "bboxes" | "keypoints" as kind:
                return coordinate_part(value, kind, self.box_format)
            case "label":
                return label_part(value)
            case kind:
                return pixel_part(value, channels_first=kind == "image" or self.masks_turn)

    def of_this_thread(self) -> Any:
        """The copy of the transform that only this thread uses."""
        if not hasattr(self.own, "transform"):
            self.own.transform = copy.deepcopy(self.transform)
        return self.own.transform


def kinds_of(transform: Any) -> dict[str, str]:
    """What is of which kind: the names that albumentations knows by itself, label fields and additional targets."""
    kinds = dict(zip(TARGETS, TARGETS, strict=True))
    kinds |= getattr(transform, "additional_targets", None) or {}
    for processor in getattr(transform, "processors", {}).values():
        kinds |= dict.fromkeys(getattr(processor.params, "label_fields", None) or (), "label")
    return kinds


def box_format_of(transform: Any) -> str | None:
    """The format that a `Compose` takes boxes in, by the name that torchvision has for it; None where it takes none."""
    processor = getattr(transform, "processors", {}).get("bboxes")
    return None if processor is None else BOX_FORMATS.get(str(processor.params.format))


def forget_labels(transform: Any) -> None:
    """A `Compose` takes the labels of all samples for what those of its first one were, numbers or texts."""
    for processor in getattr(transform, "processors", {}).values():
        manager = getattr(processor, "label_manager", None)
        if manager is not None:
            manager.metadata.clear()


def walk(transform: Any) -> Iterator[Any]:
    """A transform and all that it is made of."""
    yield transform
    for one in getattr(transform, "transforms", ()):
        yield from walk(one)
