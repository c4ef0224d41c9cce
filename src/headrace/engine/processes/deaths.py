"""What is said of a worker process that has ended by itself."""

from __future__ import annotations

import signal
from typing import Any, Literal, TypeAlias

from headrace.contracts import Step
from headrace.engine.processes.crew import Crew
from headrace.engine.processes.member import Member
from headrace.engine.step_errors import shown_samples
from headrace.errors import WorkerDiedError

Moment: TypeAlias = Literal["before its first step", "in worker_init_fn", "between two steps"]

ADVICE = {
    "SIGKILL": "The system kills the largest process when memory runs out (see `dmesg`): use fewer workers, smaller "
    "batches, or a dataset that holds less.",
    "SIGSEGV": "Native code of the dataset or of a transform has crashed; the stack stands on stderr, and "
    "num_workers=0 shows it in this process.",
    "SIGBUS": "Memory that was promised is not there: a full /dev/shm or disk, or a mapped file that was cut.",
    "SIGABRT": "Native code of the dataset or of a transform has given up; its last words stand on stderr.",
    "exit": "Code of the dataset, of a transform or of worker_init_fn has ended its process by os._exit, or by exit "
    "in native code; what it has printed stands on stderr. Raise an exception there instead.",
    "unknown": "Another part of this program has waited for all of its child processes, so nobody knows why.",
}


def death_in(crew: Crew, member: Member, step: Step | None) -> WorkerDiedError:
    """The error of a worker that has ended.

    Args:
        crew: Whose board has outlived it.
        member: The worker.
        step: What it was at, if anything.
    """
    memory_bytes, first_peak_bytes = crew.board.memory_of(member.number)
    ended = member.ended
    peak_bytes = ended.peak_bytes if ended is not None else 0
    return death(
        member.number,
        member.process.pid,
        ended.exit_code if ended is not None else None,
        moment=moment_of(crew, member.number),
        step=step,
        memory_bytes=memory_bytes,
        peak_bytes=peak_bytes if peak_bytes > first_peak_bytes else None,
    )


def moment_of(crew: Crew, worker: int) -> Moment:
    """What a worker was at that was at no step."""
    if crew.board.is_ready(worker):
        return "between two steps"
    return "in worker_init_fn" if crew.board.is_preparing(worker) else "before its first step"


def death(
    worker: int,
    pid: int,
    exit_code: int | None,
    *,
    moment: Moment,
    step: Step | None,
    memory_bytes: int,
    peak_bytes: int | None,
) -> WorkerDiedError:
    """The error for the consumer.

    Args:
        worker: Number of the worker.
        pid: Its process.
        exit_code: As of `subprocess.Popen`; None where it is not known.
        moment: When that was, where it was at no step.
        step: What it was at.
        memory_bytes: What it held when it was last looked at.
        peak_bytes: The most that it has held, where that is known.
    """
    how, advice = manner(exit_code)
    memory = f"{mebibytes(memory_bytes)} in memory when last looked at" if memory_bytes else "memory unknown"
    if peak_bytes is not None:
        memory += f", {mebibytes(peak_bytes)} at most"
    when = "in a step" if step is not None else moment
    place: dict[str, Any] = (
        {"step": step.index, "epoch": step.epoch, "samples": shown_samples(step)} if step is not None else {}
    )
    return WorkerDiedError(
        f"worker {worker} (process {pid}) {how} {when}",
        got=memory,
        remedy=ADVICE.get(advice),
        worker=worker,
        pid=pid,
        **place,
    )


def manner(exit_code: int | None) -> tuple[str, str]:
    """How a process has ended, in words, and the key of the advice."""
    if exit_code is None:
        return "has ended", "unknown"
    if exit_code >= 0:
        return f"has ended with exit code {exit_code}", "exit"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:  # a real-time signal
        name = f"signal {-exit_code}"
    return f"was killed by {name}", name


def mebibytes(size_bytes: int) -> str:
    """A size in words."""
    return f"{size_bytes / (1 << 20):.0f} MiB"
