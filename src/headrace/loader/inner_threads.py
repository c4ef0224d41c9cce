"""How many threads the libraries inside a worker process may use: a pure decision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WISHES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables by which users say how many threads a process is to compute with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InnerThreads:
    """Threads of torch, OpenMP, MKL, OpenCV and others in one worker process, and why so many."""

    num_threads: int
    reason: str


def decide_inner_threads(
    environ: Mapping[str, str], *, num_workers: int, num_cpus: float, local_world_size: int
) -> InnerThreads:
    """Threads inside a worker process.

    One, as in torch's own workers: the cores are shared out between workers. Who has said more gets more, as far as the
    workers' shares of the cores go: what a job script sets for the trainer must not be taken once for each worker.

    Args:
        environ: The environment of this process.
        num_workers: Workers of this rank.
        num_cpus: CPUs that this process may use, quota included.
        local_world_size: Ranks that share them.
    """
    share = max(1, int(num_cpus) // (max(1, num_workers) * local_world_size))
    said = wished_threads(environ)
    if said is None:
        return InnerThreads(num_threads=1, reason="cores are shared out between workers; worker_init_fn may say more")
    name, num_threads = said
    if num_threads <= share:
        return InnerThreads(num_threads=num_threads, reason=f"{name}={num_threads}")
    return InnerThreads(num_threads=share, reason=f"{name}={num_threads}, but a worker's share of the CPUs is {share}")


def wished_threads(environ: Mapping[str, str]) -> tuple[str, int] | None:
    """With how many threads, more than one, the user wants a process to compute, and the variable that says it."""
    for name in WISHES:
        said = environ.get(name, "").split(",")[0].strip()
        if said.isdecimal() and int(said) > 1:
            return name, int(said)
    return None
