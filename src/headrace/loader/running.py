"""A composition at work: its engine, a single step for `peek`, and a measurement of what Python does."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from headrace._base.machine import read_machine
from headrace._base.open_files import raise_open_file_limit
from headrace.contracts import Step
from headrace.engine import (
    SHARED_BUDGET,
    SHARED_SLOTS,
    InlineEngine,
    ProcessEngine,
    Stats,
    ThreadEngine,
)
from headrace.loader.composition import Composition
from headrace.loader.confinement import apart, confined
from headrace.loader.engine_choice import EngineChoice, PythonPart, choose_engine, not_sent, without_processes
from headrace.loader.fit import Fit, num_files
from headrace.loader.gil_share import MOST_SAMPLES, measure_gil_share
from headrace.loader.made import Made
from headrace.loader.open_file_plan import lack_of_files
from headrace.loader.outline import holds_files, outline_of
from headrace.loader.streams.build import make_stream_engine
from headrace.loader.streams.duplicates import Claim
from headrace.loader.streams.engine import StreamEngine
from headrace.loader.while_iterating import while_iterating
from headrace.loader.work import make_work
from headrace.loader.worker_start import WorkerStart
from headrace.loader.workers import WorkerDecision
from headrace.recipes.generators import GENERATORS

FROM_THE_LOADER = 7
"""Calls between a warning and the line of the user that began to iterate."""

MEASURED_SHARE = 0.05
"""Part of the memory at hand that samples may take which are made to be measured."""

AnyEngine: TypeAlias = ThreadEngine | InlineEngine | ProcessEngine | StreamEngine


def make_engine(composition: Composition, choice: EngineChoice, stats: Stats, claim: Claim) -> AnyEngine:
    """The engine that was decided on; it starts no thread or process before it runs.

    Args:
        composition: What was decided.
        choice: The engine.
        stats: Gets what is measured.
        claim: Asks the other ranks who was first to see something.
    """
    if composition.streams is not None:
        return make_stream_engine(composition, stats, claim)
    if choice.kind == "caller":
        work = make_work(composition, stats)
        held = partial(while_iterating, stats, composition.workers.num_workers)
        return InlineEngine(work, slots=SHARED_SLOTS, recorder=stats, resources=held)
    return (make_threads if choice.kind == "threads" else make_processes)(composition, choice.workers, stats)


def enter_limits(fit: Fit) -> None:
    """Raises the limit on open files where that was decided, and says what is not as the user wants it."""
    if fit.files.raise_to is not None:
        raise_open_file_limit(fit.files.raise_to)
    for cut in fit.cuts:
        warnings.warn(cut, RuntimeWarning, stacklevel=FROM_THE_LOADER)


def make_threads(composition: Composition, workers: WorkerDecision, stats: Stats) -> ThreadEngine:
    """Threads of this process."""
    work = make_work(composition, stats)
    return ThreadEngine(
        work,
        num_workers=workers.num_workers,
        num_io_threads=workers.num_io_threads,
        budget=SHARED_BUDGET,
        slots=SHARED_SLOTS,
        recorder=stats,
        limit_bytes=composition.memory.size_bytes,
        max_in_flight=workers.max_in_flight,
        num_runners=workers.num_workers + (1 if composition.is_fused else 0),
        resources=partial(while_iterating, stats, composition.workers.num_workers),
        is_prompt=work.is_prompt,
        timeout_s=composition.options.timeout_s or None,
    )


def make_processes(composition: Composition, workers: WorkerDecision, stats: Stats) -> ProcessEngine:
    """Worker processes, each with one thread."""
    options = composition.options
    start = WorkerStart(
        dataset=composition.dataset,
        num_workers=workers.num_workers,
        seed=options.seed,
        seeds_samples=options.seed_workers,
        worker_init_fn=options.worker_init_fn,
    )
    return ProcessEngine(
        make_work(composition, stats, in_process=True),
        num_workers=workers.num_workers,
        budget=SHARED_BUDGET,
        recorder=stats,
        limit_bytes=composition.memory.size_bytes,
        max_in_flight=workers.max_in_flight,
        worker_init=start,
        resources=partial(while_iterating, stats, None),
        threads_per_worker=composition.inner_threads.num_threads,
        timeout_s=options.timeout_s or None,
    )


def settled(choice: EngineChoice, composition: Composition) -> EngineChoice:
    """A choice that can be carried out: the caller where there can be no processes, or none with this dataset.

    Args:
        choice: What would be best.
        composition: With the dataset as workers would get it.
    """
    options = composition.options
    is_ours = options.engine == "auto" and options.worker_init_fn is None and composition.streams is None
    if choice.kind != "processes" or not is_ours:
        return choice
    lack = lack_of_files(num_files(composition), read_machine()) if choice.workers.is_automatic else None
    if lack is None:
        objection = make_processes(composition, choice.workers, Stats()).objection()
        lack = None if objection is None else not_sent(objection)
    return choice if lack is None else without_processes(choice, lack, has_timeout=bool(options.timeout_s))


def decide_engine(composition: Composition) -> EngineChoice:
    """The engine, after a look at a few samples where only that can tell."""
    options, workers, streams = composition.options, composition.workers, composition.streams
    if streams is not None:
        return EngineChoice(kind=streams.engine, reason=streams.why_engine, workers=workers)
    is_open = options.engine == "auto" or (options.engine == "threads" and workers.is_automatic)
    return choose_engine(
        options.engine,
        workers=workers,
        batch_size=options.batch_size or 1,
        prefetch_factor=options.prefetch_factor,
        python=python_part(composition) if is_open and workers.num_workers > 0 else None,
    )


def python_part(composition: Composition) -> PythonPart | None:
    """What Python does; None where the kernel does everything."""
    starts_workers = composition.options.worker_init_fn is not None
    has_timeout = bool(composition.options.timeout_s)
    draws = composition.global_draw or composition.batch_draw
    alone = composition.is_fused and not composition.calls_of_fields
    if alone and not starts_workers and draws is None:
        return None
    return PythonPart(
        starts_workers=starts_workers,
        draws_globally=draws,
        num_samples=composition.num_samples // composition.topology.world_size,
        makes_samples=composition.resolved is None,
        has_timeout=has_timeout,
        **({"measured": None} if draws is not None or starts_workers or has_timeout else look(composition)),
    )


def look(composition: Composition) -> dict[str, Any]:
    """What a few samples take, and whether they may be made in several threads.

    They are spread over the dataset; where they raise, nothing is measured: they will again, at their place.
    """
    num_samples, trial = composition.num_samples, replace(composition, dataset=apart(composition.dataset))
    parts = trial.dataset, composition.options.collate_fn

    def make(num: int) -> int:
        num = min(num, affordable(composition))
        ids = np.linspace(0, num_samples - 1, num).astype(np.int64)
        make_one(trial, Step(index=0, epoch=0, ids=ids, valid=np.ones(num, dtype=np.bool_)))
        if len(outlines) == 1:  # after the first sample: the last one may leave what an earlier epoch has left
            outlines.append(outline_of(*parts))
        return num

    outlines, share = [outline_of(*parts)], None
    with GENERATORS.kept() as have_moved:
        try:
            share = measure_gil_share(make, min(num_samples, MOST_SAMPLES)) if num_samples else None
        except (Exception, SystemExit):  # noqa: BLE001 - whatever a dataset raises
            share = None
        drew = have_moved()
    return {
        "measured": share,
        "confined": confined((*outlines, outline_of(*parts)), holds_files=holds_files(*parts), drew=drew),
        "rooted": objection_to(composition) if outlines[0] is None else None,
    }


def objection_to(composition: Composition) -> str | None:
    """What of a dataset cannot be sent to another process; None where everything can."""
    objection = make_processes(composition, replace(composition.workers, num_workers=1), Stats()).objection()
    return None if objection is None else str(objection.where.get("at") or "the dataset")


def affordable(composition: Composition) -> int:
    """How many samples may be made at a time only to measure them; once the first was made, its weight is known."""
    row_bytes = composition.sizes.row_bytes
    return max(1, int(MEASURED_SHARE * composition.available_bytes) // row_bytes) if row_bytes else MOST_SAMPLES


def make_one(composition: Composition, step: Step) -> Made:
    """One step in the caller's thread, measured nowhere."""
    recorder = Stats()
    engine = InlineEngine(make_work(composition, recorder), slots=SHARED_SLOTS, recorder=recorder)
    steps: Iterator[Step] = iter((step,))
    with engine.run(steps) as stream:
        made: Made = next(stream).batch
    return made
