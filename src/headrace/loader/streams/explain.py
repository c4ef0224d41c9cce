"""What is said of streams."""

from __future__ import annotations

from headrace._base.units import count
from headrace.loader.composition import Composition
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.recognise import can_be_resumed
from headrace.loader.streams.steps import StreamSteps

Row = tuple[str, str, str]


def stream_rows(composition: Composition) -> list[Row]:
    """Topic, choice and reason of what is decided for a dataset that can only be iterated over."""
    dataset, steps = composition.dataset, composition.steps
    if not isinstance(steps, StreamSteps):
        return []
    plan = steps.plan
    return [
        ("dataset", f"a stream of {type(dataset).__name__}", composition.why_unresolved),
        ("streams", f"{count(plan.num_streams, 'stream')} a rank, in turns", plan.reason),
        *_split(dataset, plan),
        *_steps(plan, steps),
        _resume(dataset, plan),
    ]


def _split(dataset: object, plan: StreamPlan) -> list[Row]:
    """Who sees to it that each sample comes once."""
    if plan.splits:
        return [("split", f"{count(plan.num_parts, 'part')} over ranks and streams", "by shard() of the dataset")]
    if plan.num_parts == 1:
        return []
    has_another = callable(getattr(dataset, "shard", None))
    lack = "its shard() does not take index= and count=" if has_another else "it has no shard(index, count)"
    return [("split", "by the dataset itself, if at all", f"{lack}; streams that begin alike are warned of")]


def _steps(plan: StreamPlan, steps: StreamSteps) -> list[Row]:
    """Whether ranks make equal steps."""
    if plan.world_size == 1:
        return []
    even = steps.lengths.even_steps()
    if even is not None:
        return [("steps", f"{even:,} on every rank", f"tail {plan.tail}, by the lengths of the parts")]
    reason = "parts without __len__: ranks that end early leave others waiting in a collective"
    return [("steps", "as many as a rank finds, perhaps unequal", reason)]


def _resume(dataset: object, plan: StreamPlan) -> Row:
    same = "on as many ranks and streams"
    if can_be_resumed(dataset) and not plan.splits:
        return "resume", "exact, by state_dict() of the dataset", same
    if plan.splits:
        return "resume", "by state_dict() of the parts, if they have it; else by reading again", same
    return "resume", "by state_dict() of its iterators, if they have it; else by reading again", same
