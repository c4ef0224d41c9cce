"""The work of a step for a dataset that gives bytes by the batch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headrace._base.hashing import sample_keys
from headrace.contracts import Allocate, BatchSource, ByteColumn, Column, Recorder, SampleName, Step
from headrace.datasets.context import BatchContext
from headrace.datasets.plan import SamplePlan
from headrace.datasets.policy import Policy
from headrace.datasets.program import SampleProgram
from headrace.datasets.shard_source import ShardSource
from headrace.engine import Pool, shared_native_pool
from headrace.loader.batch_transform import BatchTransform
from headrace.loader.extras import append_extras
from headrace.loader.made import BatchSizes, Made, Metered, tensor_bytes
from headrace.loader.options import LoaderOptions
from headrace.loader.pinning import pin
from headrace.loader.read_ahead import ReadAhead


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The bytes of a step."""

    columns: Mapping[str, Column]
    size_bytes: int


class SourceWork:
    """Bytes by the batch, then the sample program."""

    def __init__(
        self,
        source: BatchSource,
        plan: SamplePlan,
        policy: Policy,
        options: LoaderOptions,
        *,
        num_threads: int,
        recorder: Recorder,
        sizes: BatchSizes,
        pins: bool,
        batch_transform: BatchTransform | None = None,
        read_ahead: ReadAhead | None = None,
    ) -> None:
        self.source = source
        self.plan = plan
        self.policy = policy
        self.options = options
        self.num_threads = num_threads
        self.recorder = recorder
        self.sizes = sizes
        self.pins = pins
        self.batch_transform = batch_transform
        self.read_ahead = read_ahead
        self.program: tuple[Pool, SampleProgram] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What a worker process needs: it makes a program of its own, on a pool of its own."""
        return self.__dict__ | {"program": None}

    def size_bytes(self, step: Step) -> int | None:
        """Estimate from the largest row seen so far."""
        return self.sizes.estimate(step)

    def is_prompt(self) -> bool:
        """Whether fetching waits for nothing: images stay in the page cache, and their labels are there too."""
        return isinstance(self.source, ShardSource) and self.source.page_cache.is_trusted

    def fetch(self, step: Step, allocate: Allocate) -> Fetched:
        """The columns of the step."""
        metered = Metered(allocate)
        columns = self.source.fetch(step.ids, metered)
        if self.read_ahead is not None:
            self.read_ahead.after(step)
        left_bytes = sum(column.left_bytes for column in columns.values() if isinstance(column, ByteColumn))
        if left_bytes:
            self.recorder.count("page_cache_bytes", left_bytes)
        return Fetched(columns=columns, size_bytes=metered.size_bytes + left_bytes)

    def run(self, step: Step, fetched: Fetched, allocate: Allocate) -> Made:
        """The batch of the step."""
        metered = Metered(allocate)

        def names() -> Sequence[SampleName]:
            return self.source.names(step.ids)

        context = BatchContext(
            keys=sample_keys(self.options.seed, step.epoch, step.ids, draws=step.draws),
            allocate=metered,
            names=names,
            recorder=self.recorder,
            policy=self.policy,
        )
        with shared_native_pool(self.num_threads) as pool:
            result = self._program_on(pool).run(fetched.columns, context)
        batch, size_bytes = result.batch, fetched.size_bytes + metered.size_bytes
        if self.batch_transform is not None:
            batch = self.batch_transform(batch, step, self.recorder)
            size_bytes += tensor_bytes(batch)
        self.sizes.saw(size_bytes, len(step.ids))
        valid, one_value = step.valid & result.valid, result.one_value and batch is result.batch
        batch = append_extras(batch, self.options, step, valid, self.source, one_value=one_value)
        return Made(batch=pin(batch) if self.pins else batch, valid=valid)

    def _program_on(self, pool: Pool) -> SampleProgram:
        """The program on this pool: pools live as long as an iteration, programs as long as their pool."""
        current = self.program
        if current is None or current[0] is not pool:
            current = self.program = (pool, SampleProgram(self.plan, pool, self.recorder))
        return current[1]
