"""Columns of bytes become a batch: images by their recipes, everything else by its codec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any

from headrace.codecs import decode_image
from headrace.contracts import I64, Column, Recorder
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.context import BatchContext, ProgramResult
from headrace.datasets.deliver import deliver_leaves, deliver_samples
from headrace.datasets.image_leaf import ImageLeaf
from headrace.datasets.plan import SamplePlan
from headrace.datasets.python_part import Make, run_python
from headrace.datasets.value_leaf import ValueLeaf
from headrace.datasets.values import python_values
from headrace.engine import Pool
from headrace.recipes import ImageProgram
from headrace.recipes.randomness import sample_randomness


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
        self.values = [
            None if place in self.images else ValueLeaf(entry, plan.calls.get(place), plan.options)
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
        leaves = self._decode_values(batch)
        if self.plan.joint is not None:
            return self._run_joint(self.plan.joint, batch, leaves)
        if self.plan.whole_sample_image is not None:
            return self._run_whole(self.plan.whole_sample_image, batch, leaves)
        for place, leaf in self.images.items():
            leaves[place] = run_image(leaf, batch)
        return deliver_leaves(self.plan.shape, leaves, self.images, context, batch.faults)

    def _decode_values(self, batch: BatchRun) -> list[Any]:
        """All leaves, decoded where they are no images; None in the place of images."""
        started_s = perf_counter()
        leaves = [leaf.run(batch) if leaf is not None else None for leaf in self.values]
        batch.record("values", started_s)
        return leaves

    def _run_whole(self, place: int, batch: BatchRun, leaves: list[Any]) -> ProgramResult:
        """One image leaf whose Python part gets the whole sample."""
        leaf, shape = self.images[place], self.plan.shape

        def settle(samples: list[Any], rows: I64) -> list[Any]:
            split = [None if sample is None else shape.leaves(sample) for sample in samples]
            if any(parts is None and sample is not None for parts, sample in zip(split, samples, strict=True)):
                return samples
            settled = leaf.settle(batch, [None if parts is None else parts[place] for parts in split], rows)
            return [
                None if parts is None else shape.build([*parts[:place], image, *parts[place + 1 :]])
                for parts, image in zip(split, settled, strict=True)
            ]

        samples = run_python(
            batch, (leaf,), self._sample_maker((place,), leaves), leaf.program.middle, leaf.name, settle
        )
        split = [None if row in batch.faults else shape.leaves(sample) for row, sample in enumerate(samples)]
        if any(parts is None and row not in batch.faults for row, parts in enumerate(split)):
            return deliver_samples(samples, batch.context, batch.faults)
        leaves = [[None if parts is None else parts[at] for parts in split] for at in range(len(leaves))]
        leaves[place] = leaf.finish(batch, leaves[place])
        return deliver_leaves(shape, leaves, self.images, batch.context, batch.faults)

    def _run_joint(self, joint: Callable[[Any], Any], batch: BatchRun, leaves: list[Any]) -> ProgramResult:
        """A callable for the whole sample, of which the kernel knows nothing."""

        def call(sample: Any, key: int) -> Any:
            with sample_randomness(key):
                return joint(sample)

        make = self._sample_maker(tuple(self.images), leaves)
        samples = run_python(batch, tuple(self.images.values()), make, call, self.plan.shape.entries[0].name)
        return deliver_samples(samples, batch.context, batch.faults)

    def _sample_maker(self, places: Sequence[int], leaves: Sequence[Any]) -> Make:
        """What puts a row's sample together from the leaves and the row's images."""
        plain = [None if at in places else python_values(leaf) for at, leaf in enumerate(leaves)]

        def make(row: int, images: Sequence[Any]) -> Any:
            pictures = dict(zip(places, images, strict=True))
            return self.plan.shape.build([pictures[at] if leaf is None else leaf[row] for at, leaf in enumerate(plain)])

        return make


def run_image(leaf: ImageLeaf, batch: BatchRun) -> Any:
    """One image leaf that stands alone; its Python part, if any, gets the image."""
    if not leaf.program.recipe.middle:
        return leaf.run(batch)

    def settle(images: list[Any], rows: I64) -> list[Any]:
        return leaf.settle(batch, images, rows)

    images = run_python(batch, (leaf,), lambda _row, images: images[0], leaf.program.middle, leaf.name, settle)
    return leaf.finish(batch, images)
