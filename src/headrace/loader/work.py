"""The work of a composition: what an engine does for each step."""

from __future__ import annotations

from headrace.contracts import Recorder
from headrace.datasets.collate_rules import parse_rules
from headrace.datasets.policy import Policy
from headrace.datasets.shard_source import ShardSource
from headrace.loader.batch_transform import batch_transform_of
from headrace.loader.composition import Composition
from headrace.loader.map_work import MapWork
from headrace.loader.one_sample import collation_of
from headrace.loader.ordered_steps import OrderedSteps
from headrace.loader.read_ahead import ReadAhead
from headrace.loader.source_work import SourceWork


def make_work(composition: Composition, recorder: Recorder, *, in_process: bool = False) -> SourceWork | MapWork:
    """The work of a step.

    Args:
        composition: What was decided.
        recorder: What its stages record to.
        in_process: Whether worker processes do it: each decodes on its own thread, pins nothing, and reads nothing
            ahead, since others do the next steps.
    """
    options, resolved = composition.options, composition.resolved
    pins = options.pin_memory and not in_process
    transform = batch_transform_of(composition, in_process=in_process)
    if resolved is None or composition.plan is None:
        return MapWork(composition.dataset, options, recorder, composition.sizes, pins=pins, batch_transform=transform)
    skip = "skip" in (options.on_error, resolved.on_error)
    policy = Policy(
        on_error="skip" if skip else "raise",
        missing=resolved.missing,
        collate_fn=collation_of(options),
        rules=parse_rules(options.collate),
        leaf_rules=composition.leaf_rules,
    )
    return SourceWork(
        resolved.source,
        composition.plan,
        policy,
        options,
        num_threads=1 if in_process else composition.workers.num_workers,
        recorder=recorder,
        sizes=composition.sizes,
        pins=pins,
        batch_transform=transform,
        read_ahead=None if in_process else make_read_ahead(composition),
    )


def make_read_ahead(composition: Composition) -> ReadAhead | None:
    """What asks for windows early, where shards are read in windows that fit into memory."""
    steps = composition.steps
    if composition.shuffle != "window" or not composition.windows_fit or not isinstance(steps, OrderedSteps):
        return None
    source = composition.resolved.source if composition.resolved is not None else None
    return ReadAhead(source, steps.spec, composition.topology) if isinstance(source, ShardSource) else None
