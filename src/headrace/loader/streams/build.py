"""Engines that read streams, as they were decided on."""

from __future__ import annotations

from functools import partial

from headrace.engine import SHARED_BUDGET, SHARED_SLOTS, InlineEngine, ProcessEngine, Stats, ThreadEngine
from headrace.loader.batch_transform import batch_transform_of
from headrace.loader.composition import Composition
from headrace.loader.streams.duplicates import Claim, Duplicates
from headrace.loader.streams.engine import StreamEngine
from headrace.loader.streams.in_turn import InTurn
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.snapshot import Changes, take_snapshot
from headrace.loader.streams.sources import DatasetHere, DatasetInWorker, StreamSource
from headrace.loader.streams.steps import StreamSteps
from headrace.loader.streams.work import StreamWork
from headrace.loader.while_iterating import while_iterating

THREADS_A_STREAM = 4
"""One reads a stream, others have taken its next steps and wait, so that those of other streams are not behind them."""


def make_stream_engine(composition: Composition, stats: Stats, claim: Claim | None) -> StreamEngine:
    """The engine of a composition of streams; it starts no thread or process before it runs.

    Raises:
        OptionError: The dataset cannot be sent to worker processes.
    """
    steps = composition.steps
    if not isinstance(steps, StreamSteps):
        raise TypeError("a composition without streams")
    make = {"caller": in_caller, "threads": in_threads, "processes": in_processes}[steps.plan.engine]
    return make(composition, steps.plan, steps, stats, Duplicates(steps.plan.rank, claim))


def in_caller(
    composition: Composition, plan: StreamPlan, steps: StreamSteps, stats: Stats, duplicates: Duplicates
) -> StreamEngine:
    """The caller's own thread."""
    work = work_of(composition, plan, DatasetHere(composition.dataset, plan), stats)
    held = partial(while_iterating, stats, None)
    engine = InlineEngine(work, slots=SHARED_SLOTS, recorder=stats, resources=held)
    return StreamEngine(engine, steps, duplicates, release=work.release)


def in_threads(
    composition: Composition, plan: StreamPlan, steps: StreamSteps, stats: Stats, duplicates: Duplicates
) -> StreamEngine:
    """Threads of this process. One of them offers the steps, so that they are taken in their order."""
    work = InTurn(work_of(composition, plan, DatasetHere(composition.dataset, plan), stats))
    engine = ThreadEngine(
        work,
        num_workers=plan.num_streams,
        num_io_threads=1,
        budget=SHARED_BUDGET,
        slots=SHARED_SLOTS,
        recorder=stats,
        limit_bytes=composition.memory.size_bytes,
        max_in_flight=composition.workers.max_in_flight,
        num_runners=min(composition.workers.max_in_flight, plan.num_streams * THREADS_A_STREAM),
        resources=partial(while_iterating, stats, None),
        timeout_s=composition.options.timeout_s or None,
    )
    return StreamEngine(engine, steps, duplicates, release=work.release)


def in_processes(
    composition: Composition, plan: StreamPlan, steps: StreamSteps, stats: Stats, duplicates: Duplicates
) -> StreamEngine:
    """Worker processes, one for each stream."""
    options = composition.options
    sent = take_snapshot(composition.dataset)
    source = DatasetInWorker(
        sent,
        plan,
        options.worker_init_fn,
        persistent=options.persistent_workers,
        seeds_batches=options.seed_workers,
    )
    work = work_of(composition, plan, source, stats, in_process=True)
    engine = ProcessEngine(
        work,
        num_workers=plan.num_streams,
        budget=SHARED_BUDGET,
        recorder=stats,
        limit_bytes=composition.memory.size_bytes,
        max_in_flight=composition.workers.max_in_flight,
        bound=True,
        release=work.release,
        resources=partial(while_iterating, stats, None),
        threads_per_worker=composition.inner_threads.num_threads,
        timeout_s=options.timeout_s or None,
    )
    changes = None if options.persistent_workers else Changes(composition.dataset, sent)
    return StreamEngine(engine, steps, duplicates, changes=changes)


def work_of(
    composition: Composition, plan: StreamPlan, source: StreamSource, stats: Stats, *, in_process: bool = False
) -> StreamWork:
    """What is done for each step."""
    options = composition.options
    pins = options.pin_memory and not in_process
    transform = batch_transform_of(composition, in_process=in_process)
    return StreamWork(source, plan, options, stats, composition.sizes, pins=pins, batch_transform=transform)
