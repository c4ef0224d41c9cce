"""What the loader decided, and why: at most fifteen lines."""

from __future__ import annotations

from headrace._base.units import count, format_bytes
from headrace.datasets.file_source import FileSource
from headrace.datasets.plan import SamplePlan
from headrace.errors import one_line
from headrace.loader.composition import Composition
from headrace.loader.engine_choice import EngineChoice
from headrace.loader.fit import Fit
from headrace.loader.ordered_steps import OrderedSteps
from headrace.loader.streams.explain import stream_rows

MOST_LINES = 15


def explain(composition: Composition, engine: EngineChoice, fit: Fit, lists: str | None, epoch: int) -> str:
    """One line a decision: topic, choice, reason.

    Args:
        composition: What was decided at first use.
        engine: The engine.
        fit: What of that this process has room for.
        lists: What was packed for worker processes, if anything.
        epoch: The present one.
    """
    rows = [
        *(stream_rows(composition) if composition.streams is not None else _ordered(composition, epoch)),
        *_engine(composition, engine, fit),
        *([] if lists is None else [("lists", lists, "large lists are packed into shared memory")]),
        _memory(composition, fit),
        *([] if fit.files.choice is None else [("files", fit.files.choice, fit.files.reason)]),
        *_nodes(composition),
        *_windows(composition),
        *_operations(composition),
        *_batches(composition, engine),
    ]
    if composition.options.pin_memory:
        rows.append(("pinning", "batches are page-locked", "pin_memory=True; nothing happens where there is no GPU"))
    if len(rows) > MOST_LINES:
        left = len(rows) - MOST_LINES + 1
        rows = [*rows[: MOST_LINES - 1], ("", f"and {left} more", "fuse=False runs them all in Python")]
    width = max(len(topic) for topic, _, _ in rows)
    return "\n".join(f"{topic:<{width}}  {choice} ({reason})" for topic, choice, reason in rows)


def _ordered(composition: Composition, epoch: int) -> list[tuple[str, str, str]]:
    return [_dataset(composition), *_damaged(composition), _order(composition, epoch)]


def _dataset(composition: Composition) -> tuple[str, str, str]:
    layout_of = composition.resolved
    if layout_of is None:
        num_samples = count(composition.num_samples, "sample") if composition.num_samples else "samples"
        return "dataset", f"{num_samples} from Python", composition.why_unresolved
    layout = layout_of.source.layout()
    num, size = int(layout.samples.sum()), int(layout.sizes.sum())
    weight = f", {format_bytes(size)}" if size else ""
    if layout_of.sharded:
        kind = f"{count(len(layout.samples), 'shard')}{weight}"
    else:
        kind = "loose files" if isinstance(layout_of.source, FileSource) else "of a selection"
    return "dataset", count(num, "sample"), f"{kind}; bytes are fetched by the batch"


def _damaged(composition: Composition) -> list[tuple[str, str, str]]:
    """What is missing in the dataset because shards are damaged."""
    faults = composition.resolved.faults if composition.resolved is not None else ()
    if not faults:
        return []
    places = ", ".join(f"{name}={one_line(str(value))}" for name, value in faults[0].where.items())
    choice = (
        f"{count(len(faults), 'fault')} in shards, what is behind is left out; the first: {faults[0].what} [{places}]"
    )
    return [("damaged", choice.replace("\n", "\\n"), 'on_error="skip"; dataset.faults has all of them')]


def _order(composition: Composition, epoch: int) -> tuple[str, str, str]:
    topology, steps = composition.topology, composition.steps
    if not isinstance(steps, OrderedSteps):
        return "order", "as the sampler says", "sampler= or batch_sampler= was given"
    modes = {
        "none": "dataset order",
        "full": "one permutation of all samples",
        "window": f"shuffled in windows of at least {count(steps.spec.least_window_samples, 'sample')}",
    }
    ranks = f"rank {topology.rank} of {topology.world_size}, " if topology.world_size > 1 else ""
    accumulate = f", {steps.spec.accumulate} accumulated" if steps.spec.accumulate > 1 else ""
    reason = f"{ranks}seed {composition.options.seed}, tail {composition.tail}{accumulate}"
    return "order", f"{modes[steps.spec.shuffle]}, {count(steps.num_steps(epoch), 'batch', 'batches')} a rank", reason


def _engine(composition: Composition, engine: EngineChoice, fit: Fit) -> list[tuple[str, str, str]]:
    workers = fit.workers
    if engine.kind == "caller":
        return [("engine", "the caller's thread", engine.reason)]
    usual = f"{workers.reason}; the rule of thumb, CPUs // ranks - 2, gives {workers.usual}"
    rows = [("engine", engine.kind, engine.reason), ("workers", count(workers.num_workers, "worker"), usual)]
    return rows if engine.kind == "threads" else rows + _processes(composition)


def _processes(composition: Composition) -> list[tuple[str, str, str]]:
    """How worker processes are started, and what is set inside of them."""
    threads = composition.inner_threads
    inside = f"{count(threads.num_threads, 'thread')} for torch, OpenMP, OpenCV, ...; set-up frozen for the collector"
    rows = [
        ("start", "fresh interpreters, batches in memory without a name", "a fork copies locks; /dev/shm is not used"),
        ("inside", inside, threads.reason),
    ]
    if composition.options.seed_workers:
        rows.append(("seeds", "global generators of workers follow the samples", "seed_workers=True"))
    return rows


def _batches(composition: Composition, engine: EngineChoice) -> list[tuple[str, str, str]]:
    """What is done to whole batches, and where its numbers come from."""
    call = composition.options.batch_transform
    if call is None:
        return []
    name = getattr(call, "__name__", type(call).__name__)
    seeds = f"seeded by (seed, epoch, batch, rank {composition.topology.rank})"
    drawn = composition.batch_draw
    if drawn is not None and engine.kind == "threads":
        seeds += f"; it draws from {drawn}, which threads share: exact unless others draw in the same moment"
    return [("batches", f"{name} on the workers", seeds)]


def _memory(composition: Composition, fit: Fit) -> tuple[str, str, str]:
    memory, row_bytes, max_in_flight = fit.memory, composition.sizes.row_bytes, fit.workers.max_in_flight
    choice = f"{format_bytes(memory.size_bytes)}, at most {count(max_in_flight, 'batch', 'batches')} in flight"
    if row_bytes and composition.most_rows is not None:
        choice += f" of {format_bytes(row_bytes * composition.most_rows)}"
    ahead = "; persistent_workers=True: between epochs too" if composition.options.persistent_workers else ""
    return "memory", choice, memory.reason + ahead


def _nodes(composition: Composition) -> list[tuple[str, str, str]]:
    """A hint where the order was made for another number of nodes than there are."""
    steps, num_nodes = composition.steps, composition.topology.num_nodes
    if not isinstance(steps, OrderedSteps) or steps.spec.shuffle != "window" or steps.spec.canonical_nodes == num_nodes:
        return []
    choice = f"an order for {count(steps.spec.canonical_nodes, 'node')} on {num_nodes}: exact, but nodes share shards"
    return [("nodes", choice, "canonical_nodes= says how many, and a state keeps it")]


def _windows(composition: Composition) -> list[tuple[str, str, str]]:
    """A warning where windows are larger than the page cache can be."""
    steps = composition.steps
    if composition.windows_fit or not isinstance(steps, OrderedSteps):
        return []
    size = format_bytes(2 * steps.spec.window_size_bytes)
    choice = f"two windows take {size}, more than half of the memory at hand: nothing is read ahead"
    return [("warning", choice, "window_samples= makes them smaller")]


def _operations(composition: Composition) -> list[tuple[str, str, str]]:
    """The fused and unfused operations of each image leaf, or of the whole sample, one line for each kind."""
    plan = composition.plan
    if plan is None:
        return []
    if not plan.views:
        return _places_of(plan, "")
    rows = [("views", count(len(plan.views), "view"), "from one read, each with random numbers of its own")]
    for one in dict.fromkeys(plan.views):
        rows += _places_of(one, f" x {plan.views.count(one)}")
    return rows


def _places_of(plan: SamplePlan, suffix: str) -> list[tuple[str, str, str]]:
    """Which operations of a plan run where; `suffix` goes after the name of the leaf."""
    rows = []
    named = {"sample": plan.joint.recipe} if plan.joint is not None else plan.by_name
    for name, recipe in named.items():
        fused = [line.op for line in recipe.explain if line.place == "fused"]
        if fused:
            rows.append((name + suffix, "fused: " + ", ".join(fused), "native, GIL released"))
        rows += [
            (name + suffix, f"Python: {line.op}", line.reason) for line in recipe.explain if line.place == "python"
        ]
    return rows
