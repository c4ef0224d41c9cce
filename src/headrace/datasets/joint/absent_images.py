"""Transforms of torchvision and samples whose images are lacking, which `missing="none"` lets through.

Where torchvision finds no image in a sample, it takes the first plain tensor for one: labels would be cropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map

from headrace.datasets.fields import SampleShape
from headrace.recipes.joint import SampleForm
from headrace.recipes.op import Op, family_of


def all_lack(parts: Sequence[Any] | None, form: SampleForm) -> bool:
    """Whether a sample of these leaves should have images and has none."""
    return parts is not None and bool(form.images) and all(parts[place] is None for place in form.images)


def without_images(ops: Sequence[Op], shape: SampleShape, form: SampleForm) -> list[Op]:
    """The same ops for a sample without its images; those that are not torchvision's get it as it is."""
    return [replace(op, run=partial(run_beside, op, shape, form)) if family_of(op.call) == "v2" else op for op in ops]


def run_beside(op: Op, shape: SampleShape, form: SampleForm, sample: Any) -> Any:
    """A transform of torchvision moves the masks of a sample, and what lies on their canvas, and nothing else.

    Without a mask there is nothing that it could move. A function before it may have put an image in the place of the
    one that lacks; then it is called as usual.
    """
    if not all_lack(shape.leaves(sample), form):
        return op.run(sample)
    # torchvision is optional and slow to import; here is one of its transforms
    from torchvision import tv_tensors

    if not any(isinstance(leaf, tv_tensors.Mask) for leaf in tree_leaves(sample)):
        return sample
    return tree_map(unhidden, op.run(tree_map(hidden, sample)))


def hidden(leaf: Any) -> Any:
    """A plain tensor as one of which torchvision knows that it is no image; the same memory."""
    if type(leaf) is not torch.Tensor:
        return leaf
    from torchvision import tv_tensors  # imported already, see above

    return leaf.as_subclass(tv_tensors.TVTensor)


def unhidden(leaf: Any) -> Any:
    """What was hidden, as a plain tensor again."""
    from torchvision import tv_tensors  # imported already, see above

    return leaf.as_subclass(torch.Tensor) if type(leaf) is tv_tensors.TVTensor else leaf
