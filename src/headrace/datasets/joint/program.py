"""A joint plan at work: decoded leaves become a batch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from headrace.contracts import I32, I64
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.fields import SampleShape
from headrace.datasets.image_leaf import ImageLeaf
from headrace.datasets.joint.absent_images import all_lack
from headrace.datasets.joint.leaves import JointLeaves
from headrace.datasets.joint.plan import JointPlan
from headrace.datasets.joint.prefix import JointPrefix
from headrace.datasets.joint.stand_in import stand_in
from headrace.datasets.joint.suffix import JointSuffix
from headrace.datasets.python_part import run_python
from headrace.datasets.samples import Samples
from headrace.errors import SampleError
from headrace.recipes.joint.effects import labels_of_boxes
from headrace.recipes.joint.members import wrapped
from headrace.recipes.joint.sample_form import form_after


class JointProgram:
    """Runs a joint plan. Holds nothing of a batch; safe to use from several threads.

    Args:
        shape: The leaves of a sample.
        plan: What is done to them.
        images: The image leaves, by place.
    """

    def __init__(self, shape: SampleShape, plan: JointPlan, images: Mapping[int, ImageLeaf]) -> None:
        self.recipe = plan.recipe
        self.images = {place: images[place] for place in plan.form.images}
        self.leaves = JointLeaves(shape, plan.form, labels_of_boxes(plan.recipe.ops, plan.form))
        self.prefix = JointPrefix(plan.recipe.prefix, self.leaves, self.images)
        self.suffix = JointSuffix(plan.recipe.suffix, self.leaves, self.images)
        self.middle_form = form_after(plan.form, plan.recipe.prefix.steps)
        """The sample as the Python part gets it."""

    def made(self, batch: BatchRun, values: Sequence[Any]) -> list[Any] | Samples:
        """The leaves of a batch before they are collated, or its samples where a transform changed their shape.

        Args:
            batch: The batch.
            values: All leaves that are no images, decoded; None in the place of images.
        """
        columns = self.leaves.columns(values)
        self.prefix.decide(batch, columns)
        made = self._run_whole(batch, columns)
        samples = self._run_apart(batch, columns) if made is None else []
        if batch.num_rows and len(batch.faults.errors) == batch.num_rows:
            return self._stand_ins(batch, columns, made)
        if made is not None:
            return made
        split = self.leaves.split(samples)
        return Samples(samples) if split is None else self.suffix.finish(batch, split)

    def _stand_ins(
        self, batch: BatchRun, columns: Mapping[int, list[Any]], made: list[Any] | None
    ) -> list[Any] | Samples:
        """What a batch without a good row holds; where nothing can stand in, what was made of it, or nothing."""
        try:
            sample = stand_in(self.recipe, self.leaves, columns)
        except SampleError:
            return Samples([None] * batch.num_rows) if made is None else made
        parts = self.leaves.shape.leaves(sample)
        if parts is None:
            return Samples([sample] * batch.num_rows)
        return [[part] * batch.num_rows for part in parts]

    def _run_whole(self, batch: BatchRun, columns: Mapping[int, list[Any]]) -> list[Any] | None:
        """The leaves of a batch of which the kernel does everything, one call an image; None where it cannot."""
        if not self.recipe.is_fused:
            return None
        started_s = perf_counter()
        made = self.prefix.run_whole(batch, columns)
        batch.record("members", started_s)
        return None if made is None else [made[place] for place in range(len(made))]

    def _run_apart(self, batch: BatchRun, columns: Mapping[int, list[Any]]) -> list[Any]:
        """The samples of a batch after the Python part."""
        may_lack = any(batch.lacking(leaf.name) for leaf in self.images.values())

        def prepare(rows: I64, images: Sequence[list[Any]], params: Sequence[I32]) -> Callable[[int], Any]:
            parts = self.prefix.run_apart(batch, columns, rows, images, params)
            return lambda at: self.leaves.shape.build(wrapped([column[at] for column in parts], self.middle_form))

        def call(sample: Any, key: int) -> Any:
            lacks = may_lack and all_lack(self.leaves.shape.leaves(sample), self.leaves.form)
            return self.leaves.run(self.recipe.middle, sample, key, lacks_images=lacks)

        def note(row: int, error: Exception, sample: Any) -> None:
            self.leaves.note(batch, row, error, self.leaves.shape.leaves(sample))

        def settle(samples: list[Any], rows: I64) -> list[Any]:
            return self.suffix.settle(batch, samples, rows)

        return run_python(batch, tuple(self.images.values()), prepare, call, note, settle)
