"""How many workers: a pure decision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

STEPS_A_WORKER = 3
"""Steps in flight a worker, where neither `prefetch_factor` nor the byte budget says less: one that is read, one
that is decoded, one that is ready. More of them fall out of the cache (eight batches of 64 photographs are 100 MB):
with four a worker the loader was about 1 % slower, little more than runs differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerDecision:
    """Numbers of threads and their reasons."""

    num_workers: int
    """Native decode threads (fused work) or Python workers (unfused); 0: the caller's thread."""
    num_io_threads: int
    max_in_flight: int
    reason: str


def decide_workers(
    num_workers: int | Literal["auto"], *, num_cpus: float, local_world_size: int, prefetch_factor: int | None
) -> WorkerDecision:
    """Workers of one rank.

    Args:
        num_workers: As asked; "auto" takes this rank's share of the CPUs.
        num_cpus: CPUs that this process may use, quota included.
        local_world_size: Ranks that share them.
        prefetch_factor: Steps in flight a worker, as torch counts them; None for our own choice.
    """
    if num_workers == "auto":
        count = max(1, int(num_cpus) // local_world_size)
        ranks = f" over {local_world_size} ranks" if local_world_size > 1 else ""
        usual = max(1, int(num_cpus) // local_world_size - 2)
        reason = f"{num_cpus:g} usable CPUs{ranks}; the usual rule of CPUs less 2 gives {usual}"
    else:
        count, reason = num_workers, "as asked"
    in_flight = max(4, count * STEPS_A_WORKER) if prefetch_factor is None else max(1, count * prefetch_factor)
    return WorkerDecision(
        num_workers=count, num_io_threads=min(8, max(2, count)) if count else 0, max_in_flight=in_flight, reason=reason
    )
