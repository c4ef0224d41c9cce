"""What stands in the rows of a batch that has no good row: zeros of the kind that the transform gives."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import torch
from PIL import Image
from torch.utils._pytree import tree_map

from headrace.datasets.joint.leaves import JointLeaves
from headrace.recipes import ImageRecipe
from headrace.recipes.joint import Member
from headrace.recipes.tensors import delivered

SIDE = 256
"""Height and width of a black image: large enough for most crops, and no matter where these are padded."""


def stand_in(recipe: ImageRecipe, leaves: JointLeaves, columns: Mapping[int, Sequence[Any]]) -> Any:
    """The sample that the transform makes of a black image, with zeros everywhere; the same each time.

    Args:
        recipe: The transform.
        leaves: The leaves of a sample.
        columns: The leaves that are no images, of any rows.

    Raises:
        TransformError: The transform takes no such sample.
    """
    num_boxes = {len(columns[place][0]) for place in leaves.form.places("boxes") if columns[place][0] is not None}
    parts: dict[int, Any] = {place: blank_leaf(column[0], num_boxes) for place, column in columns.items()}
    parts |= {place: Image.new("RGB", (SIDE, SIDE)) for place in leaves.form.images}
    parts |= {place: blank_member(member, parts[place]) for place, member in leaves.form.members.items()}
    sample = leaves.sample_through(recipe.ops, [parts[place] for place in sorted(parts)], leaves.form, 0)
    return tree_map(lambda leaf: blank_leaf(delivered(leaf), set()), sample)


def blank_leaf(value: Any, num_boxes: Collection[int]) -> Any:
    """Zeros of a tensor or number, no entry where a tensor has one for each of so many boxes; else as it is."""
    if isinstance(value, torch.Tensor):
        return torch.zeros_like(value[:0] if value.ndim and len(value) in num_boxes else value)
    return type(value)() if isinstance(value, (int, float, str)) else value


def blank_member(member: Member, value: Any) -> torch.Tensor:
    """A mask of no class, no boxes, no points; of the type that the field has."""
    dtype = value.dtype if isinstance(value, torch.Tensor) else None
    if member.kind == "mask":
        return torch.zeros((SIDE, SIDE), dtype=dtype or torch.uint8)
    if isinstance(value, torch.Tensor) and not value.numel():
        return value
    return torch.zeros((0, 4) if member.kind == "boxes" else (0, 2), dtype=dtype)
