"""Columns of bytes become a batch: images by their recipes, everything else by its codec."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from headrace.codecs import decode_image
from headrace.contracts import I32, I64, Column, Recorder
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.context import BatchContext, ProgramResult
from headrace.datasets.deliver import deliver_leaves
from headrace.datasets.image_leaf import ImageLeaf
from headrace.datasets.joint import JointProgram
from headrace.datasets.plan import SamplePlan
from headrace.datasets.python_part import run_python
from headrace.datasets.value_leaf import ValueLeaf
from headrace.engine import Pool
from headrace.recipes import ImageProgram


class SampleProgram:
    """Runs a plan. Holds no data of a batch; safe to use from several threads."""

    def __init__(self, plan: SamplePlan, pool: Pool, recorder: Recorder) -> None:
        self.plan = plan
        self.images = {
            place: ImageLeaf(
                plan.shape.entries[place].name, ImageProgram(recipe, pool, decode=decode_image, recorder=recorder)
            )
            for place, recipe in plan.images.items()
        }
        uses = Counter(entry.extensions for entry in plan.shape.entries)
        self.values = [
            None
            if place in self.images
            else ValueLeaf(entry, plan.calls.get(place), plan.options, shares=uses[entry.extensions] > 1)
            for place, entry in enumerate(plan.shape.entries)
        ]
        joint = plan.joint
        self.joint = None if joint is None else JointProgram(plan.shape, joint, self.images)

    def run(self, columns: Mapping[str, Column], context: BatchContext) -> ProgramResult:
        """Makes a batch.

        Args:
            columns: A column for each entry of the plan's shape, by name.
            context: Keys, memory, names, policies.

        Raises:
            SampleError: A fault in a sample's content that no policy covers.
        """
        batch = BatchRun.begin(self.plan.shape, columns, context)
        leaves = self._decode_values(batch)
        if self.joint is not None:
            return self.joint.run(batch, leaves)
        for place, leaf in self.images.items():
            leaves[place] = run_image(leaf, batch)
        return deliver_leaves(self.plan.shape, leaves, context, batch.faults)

    def _decode_values(self, batch: BatchRun) -> list[Any]:
        """All leaves, decoded where they are no images; None in the place of images."""
        started_s = perf_counter()
        leaves = [leaf.run(batch) if leaf is not None else None for leaf in self.values]
        batch.record("values", started_s)
        return leaves


def run_image(leaf: ImageLeaf, batch: BatchRun) -> Any:
    """One image leaf that stands alone; its Python part, if any, gets the image."""
    if not leaf.program.recipe.middle:
        return leaf.run(batch)

    def prepare(_rows: I64, columns: Sequence[list[Any]], _params: Sequence[I32]) -> Callable[[int], Any]:
        return columns[0].__getitem__

    def note(row: int, error: Exception, _image: Any) -> None:
        batch.faults.add_transform(row, error, leaf.name)

    def settle(images: list[Any], rows: I64) -> list[Any]:
        return leaf.settle(batch, images, rows)

    return leaf.finish(batch, run_python(batch, (leaf,), prepare, leaf.program.middle, note, settle))
