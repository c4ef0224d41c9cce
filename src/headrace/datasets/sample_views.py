"""Several views of the samples of a batch, from one read."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter
from typing import Any

from headrace.contracts import U64
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.plan_program import PlanProgram
from headrace.datasets.samples import Samples
from headrace.datasets.view_columns import ViewColumns
from headrace.recipes import Rows
from headrace.recipes.run_views import run_views
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
    keys = [view_keys(batch.context.keys, view) for view in range(len(parts))]
    ready = decoded_together(parts, batch, keys)
    made = [
        part.made(batch.of_view(own_keys, images), list(values))
        for part, own_keys, images in zip(parts, keys, ready, strict=True)
    ]
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


def decoded_together(parts: Sequence[PlanProgram], batch: BatchRun, keys: Sequence[U64]) -> list[dict[str, Rows]]:
    """For each view the images, by the name of the leaf, that one call makes of all views."""
    ready: list[dict[str, Rows]] = [{} for _ in parts]
    for place, leaf in parts[0].images.items():
        started_s = perf_counter()
        programs = [part.images[place].program for part in parts]
        made = run_views(programs, batch.bytes_of(leaf.name), keys, batch.context.allocate)
        if made is None:
            continue
        batch.record("decode", started_s)
        for view, rows in zip(ready, made, strict=True):
            view[leaf.name] = rows
    return ready


def as_column(leaf: Any) -> Any:
    """A column that rows can be put into."""
    return list(leaf) if isinstance(leaf, tuple) else leaf
