"""Which engine runs the work: a pure decision."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from headrace.errors import OptionError
from headrace.loader.gil_share import GilShare
from headrace.loader.workers import WorkerDecision, suited_threads

EngineKind: TypeAlias = Literal["caller", "threads", "processes"]

WORTH_A_PROCESS_S = 0.002
"""Python's part of a batch from which processes pay: two of them make 1.25 times as many batches of texts of 2.2 ms as
the caller's thread, and 0.85 times as many of 0.6 ms."""


WORTH_A_THREAD_S = 0.0005
"""What a batch takes from which another thread pays where Python holds the lock all the time: while one thread makes
it the trainer can do nothing either, and handing it over takes 0.14 ms more."""


MOST_SHARE = 1 / 2
"""Part of its time for which a thread may hold the lock beside the training loop. One that holds it nearly always, and
lets it go for a moment at each operation of torch, wakes up the other in vain each time: 50 times a batch of texts, and
30 % more processor time for both; and the loop has to get the lock back after each operation of its own."""


WORTH_A_START_S = 5.0
"""Python's part of an epoch from which processes pay: each of them starts an interpreter and imports torch."""


WORTH_A_START_ASIDE_S = 1.5
"""Python's part of the epochs gone through and of the present one, from which processes pay that start while another
engine makes the batches: who has begun another epoch goes on, as far as anybody can tell, for as long again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineChoice:
    """The engine, and why."""

    kind: EngineKind
    reason: str
    workers: WorkerDecision
    """How many of them."""
    later: Later | None = None
    """What takes over once epochs have been gone through."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Later:
    """Processes against which only the time speaks that they take to start."""

    choice: EngineChoice
    held_s: float
    """Seconds for which Python holds the lock a sample."""
    num_samples: int
    """Of an epoch on this rank."""

    def is_worth_a_start(self, num_past: int) -> bool:
        """Whether they are to start at the begin of an epoch, beside the engine that makes its batches.

        Args:
            num_past: Samples delivered in epochs before, with the dataset as it is.
        """
        return num_past > 0 and self.held_s * (num_past + self.num_samples) >= WORTH_A_START_ASIDE_S


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonPart:
    """What Python does."""

    starts_workers: bool
    """Whether the user has given something to be done in each worker process."""
    draws_globally: str | None
    """The name of an operation that draws from global generators, if there is one."""
    measured: GilShare | None
    """What a few samples took; None where they could not be made."""
    num_samples: int
    """Samples of an epoch on this rank."""
    makes_samples: bool
    """Whether it makes whole samples, rather than a part of what the native kernel has begun."""
    has_timeout: bool = False
    """Whether the user has set a time within which a batch must come. Nothing is measured then: a sample may hang."""
    confined: str | None = None
    """Why it must not run in several threads at once, as far as can be seen."""
    rooted: str | None = None
    """What of the dataset belongs to this process: it cannot be sent to others, and threads should not share it."""


def choose_engine(
    asked: Literal["auto", "threads", "processes"],
    *,
    workers: WorkerDecision,
    batch_size: int,
    prefetch_factor: int | None,
    python: PythonPart | None,
) -> EngineChoice:
    """The engine of a loader.

    Args:
        asked: The argument of the user.
        workers: As decided without a look at samples.
        batch_size: Rows of a batch.
        prefetch_factor: The argument of the user.
        python: What Python does; None where the native kernel does everything.
    """
    kind, reason = _kind(asked, workers, batch_size, python)
    later = _later(asked, workers, batch_size, python) if kind != "processes" and python is not None else None
    if kind == "caller":
        workers = callers(workers)
    if kind == "threads" and python is not None and python.makes_samples and python.measured is not None:
        workers = suited_threads(workers, python.measured, prefetch_factor=prefetch_factor)
    return EngineChoice(kind=kind, reason=reason, workers=workers, later=later)


def _later(asked: str, workers: WorkerDecision, batch_size: int, python: PythonPart) -> Later | None:
    """Processes, where they would be chosen if an epoch were longer, and several of them could work."""
    measured = python.measured
    if measured is None or python.confined is not None or (workers.is_automatic and workers.num_workers < 2):
        return None
    kind, reason = _kind(asked, workers, batch_size, replace(python, num_samples=sys.maxsize))
    if kind != "processes":
        return None
    choice = EngineChoice(kind=kind, reason=reason, workers=workers)
    return Later(choice=choice, held_s=measured.share * measured.sample_s, num_samples=python.num_samples)


def without_processes(choice: EngineChoice, why: str, *, has_timeout: bool) -> EngineChoice:
    """The caller's thread in the place of processes that cannot be had: nothing there is shared.

    Args:
        choice: What would be best.
        why: Why there can be no processes.
        has_timeout: Whether batches must come within a time: then one thread makes them, which the caller can leave.
    """
    reason = f"{choice.reason}; but {why}"
    if has_timeout:
        one = replace(choice.workers, num_workers=1, num_io_threads=1)
        return EngineChoice(kind="threads", reason=f"{reason}: one thread, for the timeout", workers=one)
    return EngineChoice(kind="caller", reason=reason, workers=callers(choice.workers))


def not_sent(objection: OptionError) -> str:
    """Why the dataset cannot be sent to worker processes, in words."""
    place = objection.where.get("at")
    return f"{place or 'the dataset'} cannot be sent to worker processes: {objection.got}"


def callers(workers: WorkerDecision) -> WorkerDecision:
    """No workers beside the caller."""
    return replace(workers, num_workers=0, num_io_threads=0)


def _kind(asked: str, workers: WorkerDecision, batch_size: int, python: PythonPart | None) -> tuple[EngineKind, str]:
    if workers.num_workers == 0:
        return "caller", "num_workers=0"
    if asked != "auto":
        return ("threads" if asked == "threads" else "processes"), "as asked"
    if python is None:
        return "threads", "the native kernel does the work, the GIL released"
    return _kind_of_python(python, workers, batch_size)


def _kind_of_python(python: PythonPart, workers: WorkerDecision, batch_size: int) -> tuple[EngineKind, str]:
    if python.starts_workers:
        return "processes", "worker_init_fn is for worker processes"
    if python.draws_globally is not None:
        return "processes", f"{python.draws_globally} draws from global generators, which only a process has for itself"
    if python.has_timeout:
        return "processes", "timeout= is set, and only a process can be ended in the midst of a sample"
    if python.rooted is not None or python.confined is not None:
        return _kind_of_confined(python, workers)
    if python.measured is None:
        return "threads", "no sample could be made to measure Python's part"
    return _kind_of_measured(python.measured, python, workers, batch_size)


def _kind_of_measured(
    measured: GilShare, python: PythonPart, workers: WorkerDecision, batch_size: int
) -> tuple[EngineKind, str]:
    """What the figures say; the caller's thread in the place of threads of our own choice that would not pay."""
    kind, reason = _kind_by_measure(measured, python.num_samples, workers.num_workers, batch_size)
    if kind != "threads" or not (workers.is_automatic and python.makes_samples):
        return kind, reason
    if is_too_small(measured, batch_size):
        batch_us = rounded(measured.sample_s * batch_size * 1e6)
        return "caller", f"a batch takes {batch_us} us and the GIL: another thread would take as long to hand it over"
    if measured.share > MOST_SHARE:
        return "caller", f"{reason}; a thread would only keep the GIL from the training loop"
    return kind, reason


def _kind_of_confined(python: PythonPart, workers: WorkerDecision) -> tuple[EngineKind, str]:
    """Processes, which have a dataset each, where the user wants workers or an epoch is worth their start."""
    if python.rooted is not None:
        return "caller", f"{python.rooted} cannot be sent to worker processes, and threads should not share it"
    reason = f"{python.confined}, so that threads cannot share it"
    epoch_s = python.measured.sample_s * python.num_samples if python.measured is not None else 0.0
    if not workers.is_automatic or epoch_s >= WORTH_A_START_S:
        return "processes", reason
    return "caller", f"{reason}, and an epoch takes {rounded(epoch_s)} s"


def is_too_small(measured: GilShare, batch_size: int) -> bool:
    """Whether making a batch takes so little that no other thread should do it."""
    return measured.busy > 1 / 2 and measured.sample_s * batch_size < WORTH_A_THREAD_S


def _kind_by_measure(measured: GilShare, num_samples: int, num_workers: int, batch_size: int) -> tuple[EngineKind, str]:
    held_s = measured.share * measured.sample_s
    facts = f"a sample takes {rounded(measured.sample_s * 1e3)} ms and holds the GIL for {measured.share:.0%} of it"
    if held_s * batch_size < WORTH_A_PROCESS_S:
        return "threads", f"{facts}: {rounded(held_s * batch_size * 1e3)} ms a batch"
    if held_s * num_samples < WORTH_A_START_S:
        return "threads", f"{facts}: {rounded(held_s * num_samples)} s an epoch"
    # Threads of which each wants the lock for this share get in each other's way, and in the trainer's, beyond one.
    return ("threads" if measured.share * (num_workers + 1) <= 1 else "processes"), facts


def rounded(number: float) -> str:
    """A number as people write it: two digits where it is small, no powers of ten where it is large."""
    return f"{number:.2g}" if number < 10 else f"{number:,.0f}"
