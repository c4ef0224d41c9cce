"""`headrace.Views`: several transformed views of one sample, from one read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace._base.hashing import fold
from headrace.contracts import U64
from headrace.errors import OptionError
from headrace.recipes.randomness import is_keyed, sample_key, sample_randomness


class Views:
    """A transform that gives several views of a sample, each with random numbers of its own.

    Images, masks, boxes and keypoints of a sample become tuples with one entry a view; everything else stays as it is,
    once. In a batch such a tuple is a list of batches, one a view: `views, labels = batch`, `views[0]` of shape
    (rows, C, H, W). Labels that `SanitizeBoundingBoxes` thins out with the boxes are one a view, too.

    Args:
        views: Transforms, or pairs of a transform and how many views it makes: `Views((large, 2), (small, 6))`.

    Raises:
        OptionError: No view, a number of views below 1, or something that cannot be called.
    """

    def __init__(self, *views: Any) -> None:
        self.views = tuple(checked(view) for view in views)
        if not self.views:
            raise OptionError("Views has no views", accepted="transforms, or pairs (transform, number of views)")

    @property
    def transforms(self) -> tuple[Any, ...]:
        """The transform of each view."""
        return tuple(transform for transform, num in self.views for _ in range(num))

    def __len__(self) -> int:
        """How many views there are."""
        return sum(num for _, num in self.views)

    def __repr__(self) -> str:
        """The transforms and their numbers."""
        return f"Views({', '.join(f'({transform!r}, {num})' for transform, num in self.views)})"

    def __call__(self, sample: Any) -> Any:
        """The views of one sample, where no headrace loader makes them by the batch."""
        made = [self._view(number, transform, sample) for number, transform in enumerate(self.transforms)]
        return joined(made, sample)

    def _view(self, number: int, transform: Any, sample: Any) -> Any:
        if not is_keyed():
            return transform(sample)
        keys = np.array([sample_key()], dtype=np.uint64)
        with sample_randomness(int(view_keys(keys, number)[0])):
            return transform(sample)


def view_keys(keys: U64, view: int) -> U64:
    """Keys of the random numbers of one view of each sample, shape (rows,); the first view has the sample's own."""
    return keys if view == 0 else fold(keys, view)


def checked(view: Any) -> tuple[Any, int]:
    """A transform and its number of views."""
    transform, num = view if isinstance(view, tuple) and len(view) == 2 else (view, 1)
    if not callable(transform) or not isinstance(num, int) or isinstance(num, bool) or num < 1:
        raise OptionError(
            "a view is not accepted",
            got=repr(view)[:120],
            accepted="a transform, or a pair of a transform and a number of views from 1 on",
        )
    return transform, num


def joined(made: Sequence[Any], sample: Any) -> Any:
    """One sample whose leaves that differ from view to view are tuples."""
    # torch is slow to import; whoever calls transforms has imported it already
    from torch.utils._pytree import tree_flatten, tree_unflatten

    flat, spec = tree_flatten(sample)
    parts = [tree_flatten(view) for view in made]
    if any(view_spec != spec for _, view_spec in parts):
        return tuple(made)
    columns = zip(*(leaves for leaves, _ in parts), strict=True)
    joined_leaves = [joined_leaf(before, tuple(leaves)) for before, leaves in zip(flat, columns, strict=True)]
    return tree_unflatten(joined_leaves, spec)


def joined_leaf(before: Any, leaves: tuple[Any, ...]) -> Any:
    """A tuple of what is an image, a mask, boxes or points, or was changed; everything else once."""
    moves = type(before).__module__.startswith(("PIL.", "torchvision.tv_tensors"))
    same = all(leaf is before for leaf in leaves)
    return leaves[0] if same and not moves else leaves
