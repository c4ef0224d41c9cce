"""Several views of the samples of a batch, from one read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.datasets.batch_run import BatchRun
from headrace.datasets.plan_program import PlanProgram
from headrace.datasets.samples import Samples
from headrace.datasets.view_columns import ViewColumns
from headrace.recipes.views import view_keys


def made_views(
    parts: Sequence[PlanProgram], per_view: frozenset[int], batch: BatchRun, values: list[Any]
) -> list[Any] | Samples:
    """The leaves of a batch with all its views, or its samples where a transform changed their shape.

    Args:
        parts: The program of each view.
        per_view: Places of the leaves that each view has anew.
        batch: The batch; faults of any view are its faults.
        values: All leaves that are no images, decoded.
    """
    keys = batch.context.keys
    made = [part.made(batch.with_keys(view_keys(keys, view)), list(values)) for view, part in enumerate(parts)]
    leaves = [one for one in made if not isinstance(one, Samples)]
    samples = [one.values for one in made if isinstance(one, Samples)]
    if samples and leaves:
        raise TypeError("some of the views changed the structure of the sample, and others did not")
    if samples:
        return Samples([tuple(views) for views in zip(*samples, strict=True)])
    return [
        ViewColumns([as_column(one[place]) for one in leaves]) if place in per_view else leaves[0][place]
        for place in range(len(values))
    ]


def as_column(leaf: Any) -> Any:
    """A column that rows can be put into."""
    return list(leaf) if isinstance(leaf, tuple) else leaf
