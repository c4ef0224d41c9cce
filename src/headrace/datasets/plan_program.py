"""One plan at work: decoded leaves go through its transform."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from headrace.contracts import I32, I64
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.image_leaf import ImageLeaf
from headrace.datasets.joint import JointProgram
from headrace.datasets.plan import SamplePlan
from headrace.datasets.python_part import run_python
from headrace.datasets.samples import Samples


class PlanProgram:
    """Runs a plan of one view. Holds nothing of a batch; safe to use from several threads.

    Args:
        plan: What is done.
        images: The image leaves, by place.
    """

    def __init__(self, plan: SamplePlan, images: Mapping[int, ImageLeaf]) -> None:
        self.images = images
        self.joint = None if plan.joint is None else JointProgram(plan.shape, plan.joint, images)

    def made(self, batch: BatchRun, values: list[Any]) -> list[Any] | Samples:
        """The leaves of a batch before they are collated, images that can be in one tensor.

        Args:
            batch: The batch.
            values: All leaves that are no images, decoded; anything in the place of images.
        """
        if self.joint is not None:
            return self.joint.made(batch, values)
        for place, leaf in self.images.items():
            values[place] = run_image(leaf, batch)
        return values


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
