"""Columns of bytes become a batch: images by their recipes, everything else by its codec."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from headrace.codecs import decode_image
from headrace.contracts import I64, ByteColumn, Column, Fault, Recorder, ValueColumn
from headrace.datasets.context import BatchContext, ProgramResult
from headrace.datasets.deliver import deliver_leaves, deliver_samples
from headrace.datasets.faults import RowFaults
from headrace.datasets.plan import SamplePlan
from headrace.datasets.values import decode_values
from headrace.engine import Pool
from headrace.errors import MissingFieldError
from headrace.recipes import ImageProgram, Rows
from headrace.recipes.randomness import sample_randomness

Settle: TypeAlias = Callable[[int, list[Any], I64, BatchContext, RowFaults], list[Any]]
"""Takes an image's place and what the Python part made of some rows, and runs what is fused after it."""


def only_image(_row: int, images: Sequence[Any]) -> Any:
    """The image alone, for a Python part that wants nothing else."""
    return images[0]


class SampleProgram:
    """Runs a plan. Holds no data of a batch; safe to use from several threads."""

    def __init__(self, plan: SamplePlan, pool: Pool, recorder: Recorder) -> None:
        self.plan = plan
        self.images = {
            place: ImageProgram(recipe, pool, decode=decode_image, recorder=recorder)
            for place, recipe in plan.images.items()
        }

    def run(self, columns: Mapping[str, Column], context: BatchContext) -> ProgramResult:
        """Makes a batch.

        Args:
            columns: A column for each entry of the plan's shape, by name.
            context: Keys, memory, names, policies.

        Raises:
            SampleError: A fault in a sample's content that no policy covers.
        """
        faults = RowFaults(len(context.keys))
        self._note_missing(columns, context, faults)
        leaves = self._decode_values(columns, context, faults)
        if self.plan.joint is not None:
            return self._run_joint(self.plan.joint, columns, leaves, context, faults)
        if self.plan.whole_sample_image is not None:
            return self._run_whole(self.plan.whole_sample_image, columns, leaves, context, faults)
        for place in self.images:
            leaves[place] = self._run_image(place, columns, context, faults)
        return deliver_leaves(self.plan.shape, leaves, self.images, context, faults)

    def _note_missing(self, columns: Mapping[str, Column], context: BatchContext, faults: RowFaults) -> None:
        for entry in self.plan.shape.entries:
            column = columns[entry.name]
            if isinstance(column, ByteColumn):
                for row, error in column.faults.items():
                    faults.add(row, error, entry.name)
            if context.policy.missing == "none" or isinstance(column, ValueColumn) or column.present.all():
                continue
            for absent in np.flatnonzero(~column.present):
                remedy = 'missing="skip" leaves such samples out, missing="none" gives None in its place'
                faults.add(int(absent), MissingFieldError("a sample lacks a field", remedy=remedy), entry.name)

    def _decode_values(self, columns: Mapping[str, Column], context: BatchContext, faults: RowFaults) -> list[Any]:
        """All leaves, decoded where they are no images; None in the place of images."""
        started = perf_counter()
        allowed = self.plan.options.allow_pickle
        leaves = [
            None
            if place in self.images
            else decode_values(columns[entry.name], entry, self.plan.calls.get(place), allowed, context.keys, faults)
            for place, entry in enumerate(self.plan.shape.entries)
        ]
        context.recorder.add("values", perf_counter() - started, items=faults.num_rows)
        return leaves

    def _run_image(self, place: int, columns: Mapping[str, Column], context: BatchContext, faults: RowFaults) -> Any:
        """One image leaf that stands alone; its Python part, if any, gets the image."""
        program = self.images[place]
        if program.recipe.middle:
            images = self._each_row((place,), only_image, program.middle, columns, context, faults, self._settle_images)
            return self._finish(place, images, context, faults)
        started = perf_counter()
        rows = program.run(self._bytes(place, columns), context.keys, context.allocate, ragged=context.policy.ragged)
        context.recorder.add("decode", perf_counter() - started, items=faults.num_rows)
        return self._noted(rows, place, faults)

    def _run_whole(
        self, place: int, columns: Mapping[str, Column], leaves: list[Any], context: BatchContext, faults: RowFaults
    ) -> ProgramResult:
        """One image leaf whose Python part gets the whole sample."""
        make = self._sample_maker((place,), leaves)
        middle = self.images[place].middle
        samples = self._each_row((place,), make, middle, columns, context, faults, self._settle_samples)
        split = [None if row in faults else self.plan.shape.leaves(sample) for row, sample in enumerate(samples)]
        if any(parts is None and row not in faults for row, parts in enumerate(split)):
            return deliver_samples(self.plan.shape, samples, context, faults)
        leaves = [[None if parts is None else parts[at] for parts in split] for at in range(len(leaves))]
        leaves[place] = self._finish(place, leaves[place], context, faults)
        return deliver_leaves(self.plan.shape, leaves, self.images, context, faults)

    def _run_joint(
        self,
        joint: Callable[[Any], Any],
        columns: Mapping[str, Column],
        leaves: list[Any],
        context: BatchContext,
        faults: RowFaults,
    ) -> ProgramResult:
        """A callable for the whole sample, of which the kernel knows nothing."""

        def call(sample: Any, key: int) -> Any:
            with sample_randomness(key):
                return joint(sample)

        places = tuple(self.images)
        samples = self._each_row(places, self._sample_maker(places, leaves), call, columns, context, faults)
        return deliver_samples(self.plan.shape, samples, context, faults)

    def _sample_maker(self, places: Sequence[int], leaves: Sequence[Any]) -> Callable[[int, Sequence[Any]], Any]:
        """What puts a row's sample together from the leaves and the row's images."""

        def make(row: int, images: Sequence[Any]) -> Any:
            pictures = dict(zip(places, images, strict=True))
            return self.plan.shape.build(
                [pictures[at] if at in pictures else leaf[row] for at, leaf in enumerate(leaves)]
            )

        return make

    def _each_row(
        self,
        places: Sequence[int],
        make: Callable[[int, Sequence[Any]], Any],
        call: Callable[[Any, int], Any],
        columns: Mapping[str, Column],
        context: BatchContext,
        faults: RowFaults,
        settle: Settle | None = None,
    ) -> list[Any]:
        """What the Python part makes of each good row; None in the place of the others.

        Whole images are decoded and used up portion by portion, so that a batch of large ones never lies in memory
        at once; where there are several, `settle` runs what is fused after the Python part on each.
        """
        values: list[Any] = [None] * faults.num_rows
        portions = self._portions(places, columns, faults.num_rows)
        for rows in portions:
            images = [self._start(place, columns, context, faults, rows) for place in places]
            started = perf_counter()
            for at, row in enumerate(rows.tolist()):
                if row in faults:
                    continue
                try:
                    values[row] = call(make(row, [column[at] for column in images]), int(context.keys[row]))
                except Exception as error:  # noqa: BLE001 - whatever the user's transform raises belongs to this sample
                    faults.add_transform(row, error, self._name(places[0] if places else 0))
            context.recorder.add("transform", perf_counter() - started, items=len(rows))
            if settle is not None and len(portions) > 1:
                settled = settle(places[0], [values[row] for row in rows], rows, context, faults)
                values[rows[0] : rows[-1] + 1] = settled
        return values

    def _settle_images(
        self, place: int, images: list[Any], rows: I64, context: BatchContext, faults: RowFaults
    ) -> list[Any]:
        settled = self.images[place].settle(images, rows, context.keys, context.allocate)
        for value in settled:
            if isinstance(value, Fault):
                faults.add(value.row, value.error, self._name(place))
        return settled

    def _settle_samples(
        self, place: int, samples: list[Any], rows: I64, context: BatchContext, faults: RowFaults
    ) -> list[Any]:
        """The same for the image of each sample; samples whose shape the user has changed stay as they are."""
        split = [None if sample is None else self.plan.shape.leaves(sample) for sample in samples]
        if any(parts is None and sample is not None for parts, sample in zip(split, samples, strict=True)):
            return samples
        images = [None if parts is None else parts[place] for parts in split]
        settled = self._settle_images(place, images, rows, context, faults)
        return [
            None if parts is None else self.plan.shape.build([*parts[:place], image, *parts[place + 1 :]])
            for parts, image in zip(split, settled, strict=True)
        ]

    def _portions(self, places: Sequence[int], columns: Mapping[str, Column], num_rows: int) -> list[I64]:
        if not places:
            return [np.arange(num_rows)]
        return self.images[places[0]].portions(self._bytes(places[0], columns))

    def _start(
        self, place: int, columns: Mapping[str, Column], context: BatchContext, faults: RowFaults, rows: I64
    ) -> list[Any]:
        """Images as the Python part wants them; a fault stands in its row."""
        started = perf_counter()
        images = self.images[place].start(self._bytes(place, columns), context.keys, context.allocate, rows)
        context.recorder.add("decode", perf_counter() - started, items=len(rows))
        for image in images:
            if isinstance(image, Fault):
                faults.add(image.row, image.error, self._name(place))
        return images

    def _finish(self, place: int, images: list[Any], context: BatchContext, faults: RowFaults) -> Any:
        started = perf_counter()
        for row in faults.bad_rows():
            images[row] = Fault(row=row, error=faults.errors[row])
        rows = self.images[place].finish(images, context.keys, context.allocate, ragged=context.policy.ragged)
        context.recorder.add("layout", perf_counter() - started, items=faults.num_rows)
        return self._noted(rows, place, faults)

    def _noted(self, rows: Rows, place: int, faults: RowFaults) -> Any:
        for fault in rows.faults:
            faults.add(fault.row, fault.error, self._name(place))
        return rows.values

    def _bytes(self, place: int, columns: Mapping[str, Column]) -> ByteColumn:
        column = columns[self._name(place)]
        if not isinstance(column, ByteColumn):
            raise TypeError(f"the image field {self._name(place)!r} comes as values, not as bytes")
        return column

    def _name(self, place: int) -> str:
        return self.plan.shape.entries[place].name
