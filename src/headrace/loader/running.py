"""A composition at work: its engine, a single step for `peek`, and a measurement of what Python does."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TypeAlias

import numpy as np

from headrace.contracts import Recorder, Step
from headrace.engine import (
    SHARED_BUDGET,
    SHARED_SLOTS,
    InlineEngine,
    ProcessEngine,
    Stats,
    ThreadEngine,
    shared_native_pool,
)
from headrace.loader.composition import Composition
from headrace.loader.engine_choice import EngineChoice, PythonPart, choose_engine
from headrace.loader.gil_share import GilShare, measure_gil_share
from headrace.loader.made import Made
from headrace.loader.work import make_work
from headrace.loader.worker_start import WorkerStart
from headrace.recipes.generators import GENERATORS

AnyEngine: TypeAlias = ThreadEngine | InlineEngine | ProcessEngine


def make_engine(composition: Composition, choice: EngineChoice, recorder: Recorder) -> AnyEngine:
    """The engine that was decided on; it starts no thread or process before it runs."""
    if choice.kind == "caller":
        work = make_work(composition, recorder)
        resources = partial(shared_native_pool, composition.workers.num_workers)
        return InlineEngine(work, slots=SHARED_SLOTS, recorder=recorder, resources=resources)
    return (make_threads if choice.kind == "threads" else make_processes)(composition, recorder)


def make_threads(composition: Composition, recorder: Recorder) -> ThreadEngine:
    """Threads of this process."""
    workers = composition.workers
    return ThreadEngine(
        make_work(composition, recorder),
        num_workers=workers.num_workers,
        num_io_threads=workers.num_io_threads,
        budget=SHARED_BUDGET,
        slots=SHARED_SLOTS,
        recorder=recorder,
        limit_bytes=composition.memory.size_bytes,
        max_in_flight=workers.max_in_flight,
        num_runners=workers.num_workers + (1 if composition.is_fused else 0),
        resources=partial(shared_native_pool, workers.num_workers),
    )


def make_processes(composition: Composition, recorder: Recorder) -> ProcessEngine:
    """Worker processes, each with one thread."""
    workers, options = composition.workers, composition.options
    start = WorkerStart(
        dataset=composition.dataset,
        num_workers=workers.num_workers,
        seed=options.seed,
        seeds_samples=options.seed_workers,
        worker_init_fn=options.worker_init_fn,
    )
    return ProcessEngine(
        make_work(composition, recorder, in_process=True),
        num_workers=workers.num_workers,
        budget=SHARED_BUDGET,
        recorder=recorder,
        limit_bytes=composition.memory.size_bytes,
        max_in_flight=workers.max_in_flight,
        worker_init=start,
    )


def decide_engine(composition: Composition) -> EngineChoice:
    """The engine, after a look at a few samples where only that can tell."""
    options, num_workers = composition.options, composition.workers.num_workers
    starts_workers = options.worker_init_fn is not None
    python: PythonPart | None = None
    if options.engine == "auto" and num_workers > 0 and (starts_workers or not composition.is_fused):
        draws = composition.global_draw
        measured = None if draws is not None or starts_workers else measure(composition)
        num_samples = composition.num_samples // composition.topology.world_size
        python = PythonPart(
            starts_workers=starts_workers, draws_globally=draws, measured=measured, num_samples=num_samples
        )
    batch_size = options.batch_size or 1
    return choose_engine(options.engine, num_workers=num_workers, batch_size=batch_size, python=python)


def measure(composition: Composition) -> GilShare | None:
    """What a few samples take, spread over the dataset; None where they raise: they will again, at their place."""
    num_samples = composition.num_samples

    def make(num: int) -> None:
        ids = np.linspace(0, num_samples - 1, num).astype(np.int64)
        make_one(composition, Step(index=0, epoch=0, ids=ids, valid=np.ones(num, dtype=np.bool_)))

    try:
        with GENERATORS.kept():
            return measure_gil_share(make) if num_samples else None
    except Exception:  # noqa: BLE001 - whatever a dataset raises
        return None


def make_one(composition: Composition, step: Step) -> Made:
    """One step in the caller's thread, measured nowhere."""
    recorder = Stats()
    engine = InlineEngine(make_work(composition, recorder), slots=SHARED_SLOTS, recorder=recorder)
    steps: Iterator[Step] = iter((step,))
    with engine.run(steps) as stream:
        made: Made = next(stream).batch
    return made
