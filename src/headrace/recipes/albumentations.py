"""Transforms of albumentations inside of a dataset: numpy arrays by name, and the numbers of the sample."""

from __future__ import annotations

import copy
import random
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from headrace.errors import OptionError
from headrace.recipes.randomness import is_keyed, rng

TARGETS = ("image", "mask", "masks", "bboxes", "keypoints")
"""What albumentations calls the parts of a sample; label fields and additional targets come to them."""


class Albumentations:
    """Makes a transform of a dataset out of one of albumentations.

    Those take numpy arrays by name (`transform(image=array)`), draw from generators of their own, and keep what they
    draw in themselves. Here the sample is converted there and back, the numbers are those of the sample, as for
    `headrace.rng()`, and each thread has a copy. So a sample is augmented alike in every engine and after a resume.

    A dict is passed by its names: those that albumentations knows (`image`, `mask`, `bboxes`, `keypoints`, label
    fields, additional targets) go in and come out, others stay. Of a tuple the first part is the image, and the rest
    stays; any other sample is an image. Images come out as the transform leaves them: height, width, channels, or a
    tensor of channels, height, width after `ToTensorV2`.

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
        self.names = frozenset((*TARGETS, *names_of(transform)))
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
            return {**sample, **self.apply({name: sample[name] for name in sample if name in self.names})}
        if isinstance(sample, tuple):
            return (self.apply({"image": sample[0]})["image"], *sample[1:])
        return self.apply({"image": sample})["image"]

    def apply(self, parts: Mapping[str, Any]) -> dict[str, Any]:
        """The parts of a sample that albumentations knows, by its names."""
        transform = self.of_this_thread()
        if is_keyed():
            numbers = rng()
            transform.set_random_state(numbers, random.Random(int(numbers.integers(2**62))))
        found: dict[str, Any] = transform(**{name: as_numpy(value) for name, value in parts.items()})
        return found

    def of_this_thread(self) -> Any:
        """The copy of the transform that only this thread uses."""
        if not hasattr(self.own, "transform"):
            self.own.transform = copy.deepcopy(self.transform)
        return self.own.transform


def names_of(transform: Any) -> list[str]:
    """Label fields and additional targets of a `Compose`."""
    names = list(getattr(transform, "additional_targets", None) or {})
    for processor in getattr(transform, "processors", {}).values():
        names += getattr(processor.params, "label_fields", None) or []
    return names


def as_numpy(value: Any) -> Any:
    """Images and tensors as arrays, also in lists; a mask of one channel without it. Everything else as it is."""
    if isinstance(value, list):
        return list(map(as_numpy, value))
    if isinstance(value, torch.Tensor):
        array = value.numpy()
        return array[0] if array.ndim == 3 and array.shape[0] == 1 else array
    return np.array(value) if hasattr(value, "convert") and hasattr(value, "getbands") else value
