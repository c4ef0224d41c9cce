"""How worker processes are started: by a program of their own, never by forking this one, which has threads."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from headrace._base.machine import affinity_cpus
from headrace.engine.processes.anonymous_file import anonymous_file
from headrace.engine.processes.culprits import cannot_travel
from headrace.engine.processes.inner_threads import thread_variables
from headrace.engine.processes.job import Job
from headrace.engine.processes.member import Member
from headrace.engine.processes.messages import Brief
from headrace.engine.processes.pipe import Pipe
from headrace.engine.processes.seat import Seat
from headrace.engine.processes.windows import SharedFile
from headrace.engine.processes.work_file import write_work
from headrace.engine.refusals import OF_STORAGE


@dataclass(frozen=True, slots=True, kw_only=True)
class CrewOptions:
    """How the processes of an engine are started."""

    num_workers: int
    threads_per_worker: int | None
    max_free_bytes: int
    idle_s: float
    preload: tuple[str, ...]
    bound: bool
    """Whether each worker has a queue of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """What the trainer and all of its workers share."""

    tickets: Sequence[Pipe]
    """One for all workers, or one for each."""
    file: SharedFile
    board_offset: int


def launch(job: Job, options: CrewOptions, desk: Desk, members: list[Member], *, aside: bool) -> None:
    """Starts the processes, then packs the work while they import what they need.

    As many start at once as there are CPUs, each of which lets the next one start when it is ready: so the first batch
    does not wait until all of many workers have imported torch, in turns.

    Args:
        job: What they are sent.
        options: How they are started.
        desk: What they share.
        members: Gets each one that was started, also where a later one fails.
        aside: Whether they leave a CPU to this process, which has work to do meanwhile.

    Raises:
        OptionError: The job cannot be pickled.
        OSError: The system gives no process, or no descriptor.
    """
    work, starts = anonymous_file("work"), Pipe()
    try:
        at_once = max(1, affinity_cpus() - aside)
        os.write(starts.write_end, b"." * min(at_once, options.num_workers))
        environment = environment_of_workers(options.threads_per_worker)
        with deaf_to_ctrl_c():
            for number in range(options.num_workers):
                seat = seat_of_worker(number, options, desk, work, starts)
                members.append(Member(number, seat, environment))
        brief = Brief(
            contents=written(work, job),
            board_offset=desk.board_offset,
            num_workers=options.num_workers,
            max_free_bytes=options.max_free_bytes,
            idle_s=options.idle_s,
            num_threads=options.threads_per_worker,
        )
        for member in members:
            member.brief(brief)
    finally:
        os.close(work)
        starts.close()


def seat_of_worker(number: int, options: CrewOptions, desk: Desk, work: int, starts: Pipe) -> Seat:
    """What a worker is told on its command line; `Member` adds the descriptors that are the worker's alone."""
    return Seat(
        number=number,
        trainer=os.getpid(),
        dies_with_thread=threading.current_thread() is threading.main_thread(),
        tickets=desk.tickets[number % len(desk.tickets)].read_end,
        tasks=desk.file.fd,
        work=work,
        starts=starts.read_end,
        started=starts.write_end,
        path=tuple(map(str, sys.path)),
        preload=tuple(module for module in options.preload if module in sys.modules),
    )


def environment_of_workers(num_threads: int | None) -> dict[str, str]:
    """The environment of the workers: as many threads for each library as a worker is to have."""
    return os.environ | ({} if num_threads is None else thread_variables(num_threads, os.environ))


def written(work: int, job: Job) -> int:
    """Packs the job into an empty file, and tells where that says what it holds.

    Raises:
        OptionError: It cannot be pickled.
        OSError: There is no room for it.
    """
    try:
        return write_work(work, job, sys.argv)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in OF_STORAGE:
            raise
        raise cannot_travel(job, error) from error


@contextlib.contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    """Processes that are started in here do not get Ctrl-C until they have said that they ignore it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
