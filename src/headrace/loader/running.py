"""A composition at work: its engine, and a single step for `peek`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from headrace.contracts import Recorder, Step
from headrace.engine import SHARED_BUDGET, SHARED_SLOTS, InlineEngine, Stats, ThreadEngine, shared_native_pool
from headrace.loader.composition import Composition
from headrace.loader.made import Made


def make_engine(composition: Composition, recorder: Recorder) -> ThreadEngine | InlineEngine:
    """The engine that was decided on; it starts no thread before it runs."""
    workers, memory = composition.workers, composition.memory
    work = composition.make_work(recorder)
    resources = partial(shared_native_pool, workers.num_workers)
    if workers.num_workers == 0:
        return InlineEngine(work, slots=SHARED_SLOTS, recorder=recorder, resources=resources)
    return ThreadEngine(
        work,
        num_workers=workers.num_workers,
        num_io_threads=workers.num_io_threads,
        budget=SHARED_BUDGET,
        slots=SHARED_SLOTS,
        recorder=recorder,
        limit_bytes=memory.size_bytes,
        max_in_flight=workers.max_in_flight,
        num_runners=workers.num_workers + (1 if composition.is_fused else 0),
        resources=resources,
    )


def make_one(composition: Composition, step: Step) -> Made:
    """One step in the caller's thread, measured nowhere."""
    recorder = Stats()
    engine = InlineEngine(composition.make_work(recorder), slots=SHARED_SLOTS, recorder=recorder)
    steps: Iterator[Step] = iter((step,))
    with engine.run(steps) as stream:
        made: Made = next(stream).batch
    return made
