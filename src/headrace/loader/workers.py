"""How many workers: a pure decision."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from headrace._base.units import count
from headrace.loader.gil_share import GilShare

STEPS_A_WORKER = 3
"""Steps in flight a worker, where neither `prefetch_factor` nor the byte budget says less: one that is read, one
that is decoded, one that is ready. More of them fall out of the cache (eight batches of 64 photographs are 100 MB):
with four a worker the loader was about 1 % slower, little more than runs differ."""


SHARES_A_RESERVE = 16
"""Of so many CPUs, one is left to the training loop, to reading and to the system."""

STEPS_A_WAITER = 2
"""The same for threads that mostly wait: there are many of them, and none waits for the next step of another."""

MOST_WAITERS = 32
"""Threads for samples that mostly wait, at most: storage answers few requests at a time much faster than hundreds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDecision:
    """Numbers of threads and their reasons."""

    num_workers: int
    """Native decode threads (fused work) or Python workers (unfused); 0: the caller's thread."""
    num_io_threads: int
    max_in_flight: int
    reason: str
    usual: int
    """What the rule of thumb `max(1, cpus // ranks - 2)` gives."""
    is_automatic: bool = False
    """Whether the number is ours to choose."""


def decide_workers(
    num_workers: int | Literal["auto"],
    *,
    num_cpus: float,
    local_world_size: int,
    prefetch_factor: int | None,
    trainer_threads: int = 1,
) -> WorkerDecision:
    """Workers of one rank.

    Args:
        num_workers: As asked; "auto" takes this rank's share of the CPUs.
        num_cpus: CPUs that this process may use, quota included.
        local_world_size: Ranks that share them.
        prefetch_factor: Steps in flight a worker, as torch counts them; None for our own choice.
        trainer_threads: Threads with which the training loop computes on these CPUs, as the user has said; 1 where it
            computes elsewhere, or nobody has said anything.
    """
    share = max(1, int(num_cpus) // local_world_size)
    if num_workers == "auto":
        kept = reserve(share, trainer_threads)
        num = share - kept
        ranks = f" over {count(local_world_size, 'rank')}" if local_world_size > 1 else ""
        cpus = "usable CPU" if num_cpus == 1 else "usable CPUs"
        reason = f"{num_cpus:g} {cpus}{ranks}{f', {kept} kept for the training loop' if kept else ''}"
    else:
        num, reason = num_workers, "as asked"
    in_flight = max(4, num * STEPS_A_WORKER) if prefetch_factor is None else max(1, num * prefetch_factor)
    return WorkerDecision(
        num_workers=num,
        num_io_threads=min(8, max(2, num)) if num else 0,
        max_in_flight=in_flight,
        reason=reason,
        usual=max(1, int(num_cpus) // local_world_size - 2),
        is_automatic=num_workers == "auto",
    )


def reserve(share: int, trainer_threads: int) -> int:
    """CPUs of a rank's share that its workers leave alone.

    The training loop, reading and the system need little: of two CPUs, a loader with two workers was faster than one
    with one whatever the loop did. One in sixteen is left to them. Who computes on CPUs with a number of threads of his
    own choice keeps as many, up to half.
    """
    return max(share // SHARES_A_RESERVE, min(trainer_threads, share // 2) if trainer_threads > 1 else 0)


def suited_threads(workers: WorkerDecision, measured: GilShare, *, prefetch_factor: int | None) -> WorkerDecision:
    """Threads for samples that Python makes: as many as CPUs and Python's lock can keep at work, the rest waits.

    A thread that runs for a tenth of its time leaves room for nine others on the same CPU. The lock has room for one
    of the trainer's beside those of the samples.

    Args:
        workers: A decision with a worker for each CPU; left as it is where the user has named the number.
        measured: What a few samples took.
        prefetch_factor: As of `decide_workers`.
    """
    if not workers.is_automatic:
        return workers
    by_cpus = workers.num_workers / max(measured.busy, 1 / MOST_WAITERS)
    by_lock = 1 / max(measured.share, 1 / (MOST_WAITERS + 1)) - 1
    count = max(1, min(MOST_WAITERS, round(min(by_cpus, by_lock))))
    if count == workers.num_workers:
        return workers
    if count < workers.num_workers:
        return replace(workers, num_workers=count, reason="samples hold the GIL, so that more threads would not pay")
    in_flight = count * (STEPS_A_WAITER if prefetch_factor is None else prefetch_factor)
    reason = f"samples wait for {1 - measured.busy:.0%} of their time, so that more threads than CPUs pay"
    return replace(workers, num_workers=count, max_in_flight=in_flight, reason=reason)
