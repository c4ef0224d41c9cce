"""The work of a step for a dataset that gives bytes by the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from headrace._base.hashing import sample_keys
from headrace.contracts import Allocate, BatchSource, Column, Recorder, SampleName, Step
from headrace.datasets.context import BatchContext
from headrace.datasets.program import SampleProgram
from headrace.loader.extras import append_extras
from headrace.loader.made import BatchSizes, Made, Metered
from headrace.loader.options import LoaderOptions
from headrace.loader.pinning import pin


class SourceWork:
    """Bytes by the batch, then the sample program."""

    def __init__(
        self,
        source: BatchSource,
        program: SampleProgram,
        options: LoaderOptions,
        context: Mapping[str, Any],
        recorder: Recorder,
        sizes: BatchSizes,
    ) -> None:
        self.source = source
        self.program = program
        self.options = options
        self.context = context
        self.recorder = recorder
        self.sizes = sizes

    def size_bytes(self, step: Step) -> int:
        """Estimate from the largest row seen so far."""
        return self.sizes.estimate(step)

    def fetch(self, step: Step, allocate: Allocate) -> tuple[Mapping[str, Column], int]:
        """The columns of the step and the bytes they take."""
        started = perf_counter()
        metered = Metered(allocate)
        columns = self.source.fetch(step.ids, metered)
        self.recorder.add("fetch", perf_counter() - started, items=len(step.ids), size_bytes=metered.size_bytes)
        return columns, metered.size_bytes

    def run(self, step: Step, fetched: tuple[Mapping[str, Column], int], allocate: Allocate) -> Made:
        """The batch of the step."""
        columns, fetched_bytes = fetched
        metered = Metered(allocate)

        def names() -> Sequence[SampleName]:
            return self.source.names(step.ids)

        draws = 0 if step.draws is None else step.draws
        keys = sample_keys(self.options.seed, step.epoch, step.ids, draws=draws)
        context = BatchContext(keys=keys, allocate=metered, names=names, recorder=self.recorder, **self.context)
        result = self.program.run(columns, context)
        self.sizes.saw(fetched_bytes + metered.size_bytes, len(step.ids))
        valid = step.valid & result.valid
        batch = append_extras(result.batch, self.options.extras, step, valid, self.source)
        return Made(batch=pin(batch) if self.options.pin_memory else batch, valid=valid)
