"""The user's transform of one field that is no image."""

from __future__ import annotations

from typing import Any

import torch

from headrace.datasets.joint.leaves import pure
from headrace.recipes import ImageRecipe
from headrace.recipes.joint import Member
from headrace.recipes.joint.members import as_tv_tensor
from headrace.recipes.reference import apply_ops


class FieldTransform:
    """Calls the transform with one value after the other. Safe to use from several threads.

    A mask is given as `tv_tensors.Mask`, as in a whole sample: as a plain tensor torchvision would take it for an image
    and blend class numbers.

    Args:
        recipe: The transform, all of it in Python.
        is_mask: Whether the field is a mask.
    """

    def __init__(self, recipe: ImageRecipe, *, is_mask: bool) -> None:
        self.ops = recipe.ops
        self.is_mask = is_mask

    def __call__(self, value: Any, key: int) -> Any:
        """What becomes of the value of a sample.

        Args:
            value: The value.
            key: Key of the sample, for random numbers.

        Raises:
            TransformError: A transform raised.
        """
        if self.is_mask and isinstance(value, torch.Tensor):
            value = as_tv_tensor(value, Member(kind="mask"), None)
        return pure(apply_ops(self.ops, value, key))
