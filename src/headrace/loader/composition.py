"""Everything that a loader decides before its first batch, as data."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sized
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch

from headrace._base.machine import Machine, read_machine
from headrace.contracts import Layout, Shuffle, Tail
from headrace.datasets.collate_rules import Rule, leaf_rules, parse_rules
from headrace.datasets.plan import SamplePlan, plan_sample
from headrace.datasets.resolve import Resolved, resolve
from headrace.errors import OptionError
from headrace.loader.batched_samplers import BatchedSampler, OneByOne
from headrace.loader.identity import Identity
from headrace.loader.inner_threads import InnerThreads, decide_inner_threads, wished_threads
from headrace.loader.made import BatchSizes
from headrace.loader.memory import MemoryDecision, decide_memory
from headrace.loader.options import LoaderOptions, resolve_shuffle, resolve_tail
from headrace.loader.ordered_steps import Continuity, OrderedSteps
from headrace.loader.sampled_keys import ReadNumbers, read_keys
from headrace.loader.sampled_steps import SampledSteps
from headrace.loader.steps import StepSource
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.steps import StreamSteps
from headrace.loader.torch_arguments import TorchArguments
from headrace.loader.workers import WorkerDecision, decide_workers
from headrace.order import OrderSpec, Topology, default_canonical_nodes
from headrace.recipes.foreign_draws import foreign_draw


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The parts that a loader is made of, decided once and then kept."""

    options: LoaderOptions
    dataset: Any
    resolved: Resolved | None
    """The batch source, or None where only Python knows the samples."""
    why_unresolved: str
    num_samples: int
    plan: SamplePlan | None
    leaf_rules: Mapping[str, Rule]
    """How the leaves of the plan are put together, where the caller says."""
    topology: Topology
    steps: StepSource
    shuffle: Shuffle | None
    """None where a sampler of the user says the order."""
    tail: Tail
    workers: WorkerDecision
    inner_threads: InnerThreads
    """Of worker processes, where there are any."""
    memory: MemoryDecision
    available_bytes: int
    """Memory that this process could still take when it was decided."""
    sizes: BatchSizes

    @property
    def streams(self) -> StreamPlan | None:
        """How streams are read, where the dataset can only be iterated over."""
        return self.steps.plan if isinstance(self.steps, StreamSteps) else None

    @property
    def most_rows(self) -> int | None:
        """Samples of a whole batch; None where a sampler of the user says it."""
        batch_size = self.options.batch_size if self.options.is_batched else 1
        if batch_size is None or self.streams is not None:
            return batch_size
        return min(batch_size, self.num_samples or batch_size)

    @property
    def global_draw(self) -> str | None:
        """The name of an operation in Python that draws from global generators, as far as it is known."""
        recipes = [*self.plan.recipes, *self.plan.field_calls] if self.plan is not None else []
        return next((recipe.global_draw for recipe in recipes if recipe.global_draw is not None), None)

    @property
    def batch_draw(self) -> str | None:
        """The global generator that `batch_transform` is seen to draw from; torch's does not count (see `OwnDraws`)."""
        call = self.options.batch_transform
        return None if call is None else foreign_draw(call)

    @property
    def is_fused(self) -> bool:
        """Whether Python does nothing for a single sample beside small values."""
        return self.plan is not None and all(recipe.is_fused for recipe in self.plan.recipes)

    @property
    def calls_of_fields(self) -> bool:
        """Whether functions of the user make something of fields that are no images, or of their batches."""
        has_rules = any(callable(rule) for rule in self.leaf_rules.values())
        return has_rules or (self.plan is not None and bool(self.plan.field_calls))

    @property
    def windows_fit(self) -> bool:
        """Whether two windows fit into half of the memory at hand: one that is read from, one that is read ahead."""
        if not isinstance(self.steps, OrderedSteps):
            return True
        return 2 * self.steps.spec.window_size_bytes <= self.available_bytes // 2


def compose(given: TorchArguments, options: LoaderOptions, topology: Topology) -> Composition:
    """Decides order, plan, workers and memory.

    Raises:
        OptionError: The dataset is not map-style, or options contradict each other.
        OrderError: An order that cannot be made.
    """
    dataset, batches = given.dataset, _sampled_batches(given, options)
    found = resolve(dataset)
    resolved = found if isinstance(found, Resolved) else None
    machine = read_machine()
    shuffle = resolve_shuffle(options.shuffle, sharded=resolved is not None and resolved.sharded)
    tail = resolve_tail(options.tail, drop_last=options.drop_last, world_size=topology.world_size)
    layout = resolved.source.layout() if resolved is not None else _map_layout(dataset, sampled=batches is not None)
    num_samples = int(layout.samples.sum())
    identity = Identity(dataset, resolved.source if resolved is not None else None, num_samples)
    if batches is not None:
        read = read_keys if resolved is None else ReadNumbers(num_samples=num_samples)
        steps: StepSource = SampledSteps(batches, read, identity, options.seed)
    else:
        spec = _order_spec(options, layout, topology, shuffle, tail)
        steps = OrderedSteps(spec, topology, _continuity(options, identity))
    plan = _plan(resolved, options)
    workers = _workers(options, machine, topology)
    return Composition(
        options=options,
        dataset=dataset,
        resolved=resolved,
        why_unresolved=found if isinstance(found, str) else "",
        num_samples=num_samples,
        plan=plan,
        leaf_rules=_leaf_rules(plan, options),
        topology=topology,
        steps=steps,
        shuffle=shuffle if isinstance(steps, OrderedSteps) else None,
        tail=tail,
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


def _order_spec(options: LoaderOptions, layout: Layout, topology: Topology, shuffle: Shuffle, tail: Tail) -> OrderSpec:
    batch_size = _batch_size(options)
    global_batch = batch_size * topology.world_size * options.accumulate
    nodes = options.canonical_nodes
    if nodes is None:
        nodes = default_canonical_nodes(topology.num_nodes, global_batch) if shuffle == "window" else 1
    return OrderSpec(
        layout=layout,
        seed=options.seed,
        batch_size=batch_size,
        world_size=topology.world_size,
        accumulate=options.accumulate,
        canonical_nodes=nodes,
        shuffle=shuffle,
        window_samples=options.window_samples,
        tail=tail,
    )


def _continuity(options: LoaderOptions, identity: Identity) -> Continuity:
    return Continuity(
        identity=identity,
        tail="drop" if options.drop_last else options.tail,
        adopts_nodes=options.canonical_nodes is None,
        on_batch_change=options.on_batch_change,
    )


def _plan(resolved: Resolved | None, options: LoaderOptions) -> SamplePlan | None:
    if resolved is None:
        return None
    decode = replace(options.decode, allow_pickle=resolved.allow_pickle, limits=resolved.limits)
    return plan_sample(resolved.shape, resolved.transform, decode)


def _leaf_rules(plan: SamplePlan | None, options: LoaderOptions) -> dict[str, Rule]:
    if plan is None:
        return {}
    names = [entry.name for entry in plan.shape.entries]
    return leaf_rules(
        parse_rules(options.collate), names, by_place=plan.shape.shape == "tuple", complete=plan.keeps_shape
    )


def _workers(options: LoaderOptions, machine: Machine, topology: Topology) -> WorkerDecision:
    return decide_workers(
        options.num_workers,
        num_cpus=machine.usable_cpus,
        local_world_size=topology.local_world_size,
        prefetch_factor=options.prefetch_factor,
        trainer_threads=_trainer_threads(),
    )


def _trainer_threads() -> int:
    """Threads with which the training loop computes on the CPUs, where the user has said so."""
    wished = wished_threads(os.environ)
    return 1 if wished is None or torch.cuda.is_available() else wished[1]


def _map_layout(dataset: Any, *, sampled: bool) -> Layout:
    """One shard of all samples; of none where a sampler says what there is, and the dataset does not."""
    if not hasattr(dataset, "__getitem__") or not (sampled or isinstance(dataset, Sized)):
        raise OptionError(
            "the dataset is neither map-style nor iterable",
            got=type(dataset).__name__,
            accepted="a dataset with __getitem__, and with __len__ unless there is a sampler; or one with __iter__",
            remedy="For tar shards use headrace.ShardDataset",
        )
    num_samples = len(dataset) if isinstance(dataset, Sized) else 0
    return Layout(samples=np.array([num_samples], dtype=np.int64), sizes=np.zeros(1, dtype=np.int64))


def _sampled_batches(given: TorchArguments, options: LoaderOptions) -> Any:
    """What gives lists of keys, where the caller says which samples come; None where the order is ours."""
    if given.sampler is None or given.batch_sampler is not None:
        return given.batch_sampler
    if not options.is_batched:
        return OneByOne(given.sampler)
    return BatchedSampler(given.sampler, _batch_size(options), drop_last=options.drop_last)


def _batch_size(options: LoaderOptions) -> int:
    """Rows of a batch: one where samples are delivered by themselves."""
    return options.batch_size or 1
