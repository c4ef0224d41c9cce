"""What was decided, cut to what this process may really take: open files, then memory."""

from __future__ import annotations

from dataclasses import dataclass, replace

import psutil
import torch

from headrace._base.machine import Machine
from headrace._base.open_files import num_open_files
from headrace._base.units import format_bytes
from headrace.loader.composition import Composition
from headrace.loader.engine_choice import EngineChoice
from headrace.loader.map_work import COPIES
from headrace.loader.memory import MemoryDecision
from headrace.loader.open_file_plan import OpenFilePlan, plan_open_files
from headrace.loader.preflight import OF_A_WORKER_BYTES, Demand, Room, check_memory
from headrace.loader.workers import WorkerDecision


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """What an engine is made with."""

    workers: WorkerDecision
    memory: MemoryDecision
    files: OpenFilePlan
    cuts: tuple[str, ...]
    """What the user has asked for and does not get, each with its reason."""


def fit(composition: Composition, choice: EngineChoice, machine: Machine) -> Fit:
    """Fits a configuration into this process's limits.

    Args:
        composition: What was decided; `sizes` may know by now what a row weighs.
        choice: The engine and its workers.
        machine: As it is now.

    Raises:
        OpenFilesError: There is no room for a single worker process.
        MemoryBudgetError: Not even one batch at a time, or one worker process, fits into memory.
    """
    asked = choice.workers
    num_processes = asked.num_workers if choice.kind == "processes" else 0
    files = plan_open_files(
        num_processes,
        num_files(composition),
        fewest_processes=1 if composition.streams is None else num_processes,
        num_open=num_open_files(),
        soft=machine.open_files_soft,
        hard=machine.open_files_hard,
    )
    workers = fewer(asked, files.num_processes, files.reason) if num_processes else asked
    room = Room(
        size_bytes=machine.memory_available_bytes // composition.topology.local_world_size,
        where=machine.memory_limiter,
    )
    verdict = check_memory(demand(composition, choice, workers), room)
    why = f"{room.where} has {format_bytes(room.size_bytes)} of memory left"
    num_makers = verdict.num_makers if choice.kind != "caller" else 0
    fitting = fewer(workers, num_makers, why)
    fitting = replace(fitting, max_in_flight=min(fitting.max_in_flight, verdict.max_in_flight))
    memory = composition.memory
    if verdict.budget_bytes < memory.size_bytes:
        memory = MemoryDecision(size_bytes=verdict.budget_bytes, reason=f"{why}, for workers and batches")
    return Fit(workers=fitting, memory=memory, files=files, cuts=cuts(composition, choice, fitting, memory))


def demand(composition: Composition, choice: EngineChoice, workers: WorkerDecision) -> Demand:
    """What a configuration takes, as far as it is known."""
    num_makers, most_rows = max(1, workers.num_workers), composition.most_rows
    return Demand(
        num_makers=num_makers,
        fewest_makers=1 if composition.streams is None else num_makers,
        max_in_flight=workers.max_in_flight if choice.kind != "caller" else 1,
        budget_bytes=composition.memory.size_bytes,
        worker_bytes=worker_bytes() if choice.kind == "processes" else 0,
        row_bytes=composition.sizes.row_bytes if most_rows is not None else None,
        batch_size=most_rows or 1,
        copies=(COPIES if composition.resolved is None else 1) + pinned_copies(composition),
    )


def pinned_copies(composition: Composition) -> int:
    """What page-locked batches take beside the others: torch rounds each tensor up to a power of two."""
    return 2 if composition.options.pin_memory and torch.cuda.is_available() else 0


def worker_bytes() -> int:
    """Memory that a worker process takes for itself before its first step: what this one holds, up to a bound.

    A worker imports what this process has imported, and nothing of its model.
    """
    held = psutil.Process().memory_info()
    return min(OF_A_WORKER_BYTES, int(held.rss - getattr(held, "shared", 0)))


def num_files(composition: Composition) -> int:
    """Files of the dataset that want to be open together: its shards, or the loose files of a batch."""
    resolved = composition.resolved
    if resolved is None:
        return 0
    return len(resolved.source.layout().samples) if resolved.sharded else composition.options.batch_size or 1


def fewer(workers: WorkerDecision, num_workers: int, reason: str) -> WorkerDecision:
    """The decision with fewer workers and, where they are fewer, with this reason."""
    if num_workers >= workers.num_workers:
        return workers
    in_flight = max(1, workers.max_in_flight * num_workers // workers.num_workers)
    reason = f"{workers.num_workers}, {workers.reason}, do not fit: {reason}"
    return replace(workers, num_workers=num_workers, max_in_flight=in_flight, reason=reason)


def cuts(
    composition: Composition, choice: EngineChoice, fitting: WorkerDecision, memory: MemoryDecision
) -> tuple[str, ...]:
    """What the user has said and does not get: nothing of what was left to us."""
    options, asked, found = composition.options, choice.workers, []
    wanted = composition.workers
    if choice.kind == "caller" and wanted.num_workers > 0 and not wanted.is_automatic:
        left = f"num_workers={wanted.num_workers} is not used"
        found.append(f"{left}, the caller's thread makes the samples: {choice.reason}")
    if fitting.num_workers < asked.num_workers and not asked.is_automatic:
        found.append(f"num_workers is reduced to {fitting.num_workers}: {fitting.reason}")
    if memory.size_bytes < composition.memory.size_bytes and options.memory_budget != "auto":
        found.append(
            f"memory_budget={options.memory_budget!r} is reduced to {format_bytes(memory.size_bytes)}: {memory.reason}"
        )
    return tuple(found)
