"""What a loader decides for a dataset that can only be iterated over."""

from __future__ import annotations

import os
from typing import Any

from torch.utils.data import IterDataPipe

from headrace._base.machine import Machine, read_machine
from headrace.errors import OptionError
from headrace.loader.composition import Composition
from headrace.loader.inner_threads import decide_inner_threads
from headrace.loader.made import BatchSizes
from headrace.loader.memory import decide_memory
from headrace.loader.open_file_plan import lack_of_files
from headrace.loader.options import LoaderOptions, resolve_tail
from headrace.loader.streams.data_pipes import shuffled
from headrace.loader.streams.lengths import Lengths
from headrace.loader.streams.plan import StreamPlan, choose_readers
from headrace.loader.streams.recognise import can_be_split
from headrace.loader.streams.snapshot import can_travel
from headrace.loader.streams.steps import StreamSteps
from headrace.loader.torch_arguments import TorchArguments
from headrace.loader.workers import WorkerDecision, decide_workers
from headrace.order import Topology, fingerprint

OF_ORDER = ("accumulate", "canonical_nodes", "window_samples")


def check_stream_arguments(given: TorchArguments, options: LoaderOptions) -> None:
    """Arguments that a dataset excludes which can only be iterated over.

    Raises:
        OptionError: One of them, as torch refuses it; or one of our own that needs to know the samples.
    """
    accepted = (None, False, True) if isinstance(given.dataset, IterDataPipe) else (None, False)
    found = {
        "shuffle": options.shuffle not in accepted,
        "sampler": given.sampler is not None,
        "batch_sampler": given.batch_sampler is not None,
        "on_error": options.on_error != "raise",
        "extras": any(one != "valid" for one in options.extras),
    }
    found |= {name: getattr(options, name) not in (None, 1) for name in OF_ORDER}
    for name, is_given in found.items():
        if is_given:
            raise OptionError(
                f"a dataset that is iterated over excludes {name}",
                got=f"{name}={getattr(options, name, '...')!r}",
                accepted=f"no {name}",
                remedy="The dataset says what comes when; shuffle inside of it, with headrace.rng() or its epoch",
            )


def compose_streams(dataset: Any, options: LoaderOptions, topology: Topology) -> Composition:
    """Decides streams, engine, workers and memory."""
    dataset = shuffled(dataset, options.shuffle)
    machine = read_machine()
    plan, workers = _plan(dataset, options, topology, machine)
    name = fingerprint({"kind": "stream", "type": type(dataset).__qualname__})
    return Composition(
        options=options,
        dataset=dataset,
        resolved=None,
        why_unresolved="it can only be iterated over",
        num_samples=0,
        plan=None,
        leaf_rules={},
        topology=topology,
        steps=StreamSteps(plan, Lengths(dataset, plan), name),
        shuffle=None,
        tail=plan.tail,
        workers=workers,
        inner_threads=decide_inner_threads(
            os.environ,
            num_workers=workers.num_workers,
            num_cpus=machine.usable_cpus,
            local_world_size=topology.local_world_size,
        ),
        memory=decide_memory(
            options.memory_budget,
            available_bytes=machine.memory_available_bytes,
            local_world_size=topology.local_world_size,
        ),
        available_bytes=machine.memory_available_bytes,
        sizes=BatchSizes(),
    )


def _plan(
    dataset: Any, options: LoaderOptions, topology: Topology, machine: Machine
) -> tuple[StreamPlan, WorkerDecision]:
    def decide(num_workers: Any) -> WorkerDecision:
        return decide_workers(
            num_workers,
            num_cpus=machine.usable_cpus,
            local_world_size=topology.local_world_size,
            prefetch_factor=options.prefetch_factor,
        )

    is_automatic, splits = options.num_workers == "auto", can_be_split(dataset)
    num_workers = decide(options.num_workers).num_workers
    readers = choose_readers(
        options.engine,
        num_workers,
        is_automatic=is_automatic,
        splits=splits,
        objection=_objection(dataset, machine) if is_automatic and options.engine == "auto" else None,
        has_timeout=bool(options.timeout_s),
    )
    tail = resolve_tail(options.tail, drop_last=options.drop_last, world_size=topology.world_size)
    plan = StreamPlan(
        num_streams=readers.num_streams,
        reason=readers.reason,
        engine=readers.engine,
        why_engine=readers.why_engine,
        splits=splits,
        batch_size=options.batch_size if options.is_batched else None,
        drop_last=tail == "drop",
        tail=tail,
        seed=options.seed,
        rank=topology.rank,
        world_size=topology.world_size,
    )
    return plan, decide(0 if readers.engine == "caller" else readers.num_streams)


def _objection(dataset: Any, machine: Machine) -> str | None:
    """Why there can be no worker process for a dataset; None where there can."""
    if not can_travel(dataset):
        return "the dataset cannot be sent to a worker process"
    return lack_of_files(0, machine)
