"""Whether the memory that a configuration needs is there: a pure decision, before the system has to make one."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._base.units import count, format_bytes
from headrace.errors import MemoryBudgetError

USABLE = 0.9
"""Part of the memory at hand that is planned with: page tables, heaps with holes in them and other programs take some
too. What a worker holds is known to about a tenth."""
LEAST_FOR_BATCHES_BYTES = 32 << 20
"""Left for the batches of each worker at least, where nobody knows yet what one weighs."""
OF_A_WORKER_BYTES = 384 << 20
"""Memory of a worker process that no other shares, at most, before its first step: 280 MiB with torch imported (build
for CUDA, 2.x), 370 with torchvision (`Anonymous` in /proc/PID/smaps_rollup)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """Memory that one rank may still take."""

    size_bytes: int
    where: str
    """Who sets the limit: "the machine" or "the control group"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What a configuration takes."""

    num_makers: int
    """Threads or processes that make batches at the same time; at least 1."""
    fewest_makers: int = 1
    """How many of them there must be: streams are read by as many workers as the order says."""
    max_in_flight: int
    budget_bytes: int
    worker_bytes: int
    """What a worker process holds beside batches; 0 where threads work."""
    row_bytes: int | None
    """What a sample weighs in a batch; None where none was made yet."""
    batch_size: int
    copies: int
    """How often a batch is held while it is made: 2 where Python makes samples that are then put together."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What fits."""

    num_makers: int
    max_in_flight: int
    budget_bytes: int


def check_memory(demand: Demand, room: Room) -> Verdict:
    """The most of what is asked for that fits into memory: fewer steps in flight first, then fewer workers.

    At its height a run holds what the workers hold, the batch of the training loop, and `copies` of each batch in
    flight. Worker processes also keep memory of earlier batches for later ones, at most as much as is in flight.

    Raises:
        MemoryBudgetError: Not even the fewest workers, one batch at a time, fit.
    """
    usable_bytes = int(USABLE * room.size_bytes)
    for num_makers in range(demand.num_makers, demand.fewest_makers - 1, -1):
        left_bytes = usable_bytes - num_makers * demand.worker_bytes
        verdict = fitted(demand, num_makers, left_bytes)
        if verdict is not None:
            return verdict
    raise too_large(demand, room)


def fitted(demand: Demand, num_makers: int, left_bytes: int) -> Verdict | None:
    """What of the batches fits with so many workers; None where not each of them can make one."""
    held_twice = 2 if demand.worker_bytes else 1
    if demand.row_bytes is None:
        budget_bytes = max(1, min(demand.budget_bytes, left_bytes // (1 + held_twice)))
        # Threads take nothing for themselves, and what their first batch takes is looked at when it is taken.
        enough = min(demand.budget_bytes, num_makers * LEAST_FOR_BATCHES_BYTES) if demand.worker_bytes else 0
        return Verdict(num_makers, demand.max_in_flight, budget_bytes) if budget_bytes >= enough else None
    batch_bytes = max(1, demand.row_bytes * demand.batch_size)
    step_bytes = demand.copies * batch_bytes
    num_steps = (left_bytes - batch_bytes) // (held_twice * step_bytes)
    if num_makers == demand.fewest_makers and left_bytes >= batch_bytes + step_bytes:
        num_steps = max(num_steps, 1)  # one step after the other leaves nothing for later
    if num_steps < (min(num_makers, demand.max_in_flight) if num_makers > demand.fewest_makers else 1):
        return None
    return Verdict(num_makers, min(demand.max_in_flight, num_steps), min(demand.budget_bytes, num_steps * step_bytes))


def too_large(demand: Demand, room: Room) -> MemoryBudgetError:
    """What is said where nothing fits."""
    accepted = f"{format_bytes(USABLE * room.size_bytes)}, what {room.where} still has for it"
    usable_bytes = int(USABLE * room.size_bytes) - demand.fewest_makers * demand.worker_bytes
    if demand.row_bytes is None or usable_bytes < LEAST_FOR_BATCHES_BYTES:
        return MemoryBudgetError(
            f"not even {count(demand.fewest_makers, 'worker')} can be had with the memory at hand",
            got=f"{format_bytes(demand.worker_bytes)} each for an interpreter and what it imports, and "
            f"{format_bytes(LEAST_FOR_BATCHES_BYTES)} for batches",
            accepted=accepted,
            remedy='Use engine="threads" or num_workers=0, or give the job more memory.',
        )
    held = demand.copies + 1
    most_rows = usable_bytes // (held * demand.row_bytes)
    smaller = f"Use batch_size={most_rows} or less" if most_rows else "Not even a batch of one sample fits: use smaller"
    return MemoryBudgetError(
        "a batch is too large for the memory at hand",
        got=f"{format_bytes(demand.row_bytes)} a sample, {count(demand.batch_size, 'sample')} a batch, "
        f"held {held} times: while it is made, and by the training loop",
        accepted=accepted,
        remedy=f"{smaller}{' samples' if not most_rows else ''}, or give the job more memory.",
    )
