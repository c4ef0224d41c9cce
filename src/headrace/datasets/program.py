"""Columns of bytes become a batch: images by their recipes, everything else by its codec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from time import perf_counter
from typing import Any

from headrace.codecs import decode_image
from headrace.contracts import Column, Recorder
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.context import BatchContext, ProgramResult
from headrace.datasets.deliver import deliver_leaves, deliver_samples
from headrace.datasets.field_transform import FieldTransform
from headrace.datasets.image_leaf import ImageLeaf
from headrace.datasets.plan import SamplePlan
from headrace.datasets.plan_program import PlanProgram
from headrace.datasets.sample_views import made_views
from headrace.datasets.samples import Samples
from headrace.datasets.value_leaf import ValueLeaf
from headrace.engine import Pool
from headrace.recipes import ImageProgram


class SampleProgram:
    """Runs a plan. Holds no data of a batch; safe to use from several threads."""

    def __init__(self, plan: SamplePlan, pool: Pool, recorder: Recorder) -> None:
        self.plan = plan
        plans = plan.views or (plan,)
        programs = {one: PlanProgram(one, image_leaves(one, pool, recorder)) for one in dict.fromkeys(plans)}
        self.parts = [programs[one] for one in plans]
        """The program of each view; one where there are no views."""
        uses = Counter(entry.origin for entry in plan.shape.entries)
        self.values = [
            None
            if place in plan.images
            else ValueLeaf(entry, field_transform(plan, place), plan.options, shares=uses[entry.origin] > 1)
            for place, entry in enumerate(plan.shape.entries)
        ]

    def run(self, columns: Mapping[str, Column], context: BatchContext) -> ProgramResult:
        """Makes a batch.

        Args:
            columns: A column for each entry of the plan's shape, by name.
            context: Keys, memory, names, policies.

        Raises:
            SampleError: A fault in a sample's content that no policy covers.
        """
        batch = BatchRun.begin(self.plan.shape, columns, context)
        values = self._decode_values(batch)
        if self.plan.views:
            made = made_views(self.parts, self.plan.per_view, batch, values)
        else:
            made = self.parts[0].made(batch, values)
        if isinstance(made, Samples):
            return deliver_samples(made.values, context, batch.faults)
        return deliver_leaves(self.plan.shape, made, context, batch.faults)

    def _decode_values(self, batch: BatchRun) -> list[Any]:
        """All leaves, decoded where they are no images; None in the place of images."""
        started_s = perf_counter()
        leaves = [leaf.run(batch) if leaf is not None else None for leaf in self.values]
        batch.record("values", started_s)
        return leaves


def field_transform(plan: SamplePlan, place: int) -> FieldTransform | None:
    """The user's transform of a leaf that is no image; None where it has none."""
    recipe = plan.calls.get(place)
    return None if recipe is None else FieldTransform(recipe, is_mask=plan.shape.entries[place].kind == "mask")


def image_leaves(plan: SamplePlan, pool: Pool, recorder: Recorder) -> dict[int, ImageLeaf]:
    """The image leaves of a plan, by place."""
    return {
        place: ImageLeaf(
            plan.shape.entries[place].name, ImageProgram(recipe, pool, decode=decode_image, recorder=recorder)
        )
        for place, recipe in plan.images.items()
    }
