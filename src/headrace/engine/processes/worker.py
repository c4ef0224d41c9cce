"""The life of a worker process: takes tasks, does them, sends what came of them."""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import gc
import importlib
import os
import signal
import socket
import sys
import time
import traceback
from typing import Any

from headrace._base.forks import renew_after_fork
from headrace.contracts import Step
from headrace.engine.events import EVENTS
from headrace.engine.exits import as_error
from headrace.engine.passage import StepMemory
from headrace.engine.pauses import Pauses, PauseSum
from headrace.engine.processes.board import NO_ITERATION, Board, board_bytes
from headrace.engine.processes.carried_errors import carry
from headrace.engine.processes.inner_threads import limit_loaded
from headrace.engine.processes.job import Job
from headrace.engine.processes.messages import Brief, Failed, Inbox, Made, Message, Unready, framed
from headrace.engine.processes.parcels import Packer, Parcel
from headrace.engine.processes.process_memory import ResidentMemory, peak_bytes
from headrace.engine.processes.seat import Seat
from headrace.engine.processes.tasks import Task, TaskTaker, Ticket
from headrace.engine.processes.watch import die_first, die_with, watch
from headrace.engine.processes.windows import SharedFile
from headrace.engine.processes.work_file import read_contents, read_work
from headrace.engine.processes.worker_slots import WorkerSlots
from headrace.errors import WorkerError

NOTE_EVERY_S = 0.05
"""How often memory is noted between steps; the watching thread looks amid long ones."""

MODULE_ADVICE = (
    "headrace: a worker process looks for modules where sys.path of this program leads. Put the folder of this one on "
    "it, or call cloudpickle.register_pickle_by_value(module)."
)


class Line:
    """The socket to the trainer."""

    def __init__(self, descriptor: int) -> None:
        self.socket = socket.socket(fileno=descriptor)
        self.is_copied = False
        """Whether this process was forked off a worker by code of the user."""
        renew_after_fork(self)

    def after_fork(self) -> None:
        """A process that user code forks off is none of the trainer's, and must not keep the line open."""
        self.is_copied = True
        self.socket.close()

    def brief(self) -> Brief:
        """Waits for the trainer's only message.

        Raises:
            EOFError: The trainer is gone.
        """
        inbox = Inbox()
        while piece := self.socket.recv(1 << 16):
            for message in inbox.feed(piece):
                if isinstance(message, Brief):
                    return message
        raise EOFError

    def send(self, message: Message) -> None:
        """Sends a message; waits while the trainer has not read earlier ones."""
        self.socket.sendall(framed(message))


class Worker:
    """A worker that has taken up its work."""

    def __init__(self, seat: Seat, brief: Brief, line: Line, tasks: TaskTaker, job: Job) -> None:
        self.number = seat.number
        self.line = line
        self.tasks = tasks
        self.board = tasks.board
        self.job = job
        self.stage = "fetch"
        self.slots = WorkerSlots(SharedFile(seat.slots), max_free_bytes=brief.max_free_bytes)
        self.resident = ResidentMemory()
        self.pauses = PauseSum()
        self.noted_s = 0.0

    def serve(self) -> None:
        """Takes tasks until the trainer closes the queue."""
        with Pauses(self.pauses.add):
            self.take_turns()

    def take_turns(self) -> None:
        """One task after another."""
        while (ticket := self.tasks.take()) is not None:
            if ticket.iteration == NO_ITERATION:
                self.release()
                continue
            if not self.board.is_wanted(ticket.iteration):
                continue
            self.board.claim(self.number, ticket.iteration, ticket.position)
            self.note_memory()
            task = self.tasks.read(ticket)
            if task is not None:
                message = self.attempt(ticket, task)
                if self.board.is_wanted(ticket.iteration):
                    self.line.send(message)
                elif isinstance(message, Made):
                    self.slots.call_back(message.parcel.ranges)
                del message
            self.board.disclaim(self.number)

    def release(self) -> None:
        """Lets go of what the iteration has left; nobody would hear of an error, so it is shown."""
        try:
            self.job.release()
        except Exception:  # noqa: BLE001 - code of the user, which nobody waits for
            traceback.print_exc()

    def note_memory(self) -> None:
        """Notes what this process holds, unless that was done a moment ago."""
        now_s = time.monotonic()
        if now_s >= self.noted_s + NOTE_EVERY_S:
            self.noted_s = now_s
            self.board.note_memory(self.number, self.resident.size_bytes())

    def attempt(self, ticket: Ticket, task: Task) -> Message:
        """Makes one batch, or tells why not."""
        EVENTS.wait("run", time.perf_counter() - task.given_s)
        try:
            with self.job.step_context(task.step):
                parcel, size_bytes = self.make(task.step)
            self.tell_pauses()
        except BaseException as error:
            if self.line.is_copied:  # code of the user has forked, and the child is not to go on as a worker
                raise
            told = carry(as_error(error, task.step))
            return Failed(ticket.iteration, ticket.position, self.stage, told, EVENTS.taken())
        return Made(ticket.iteration, ticket.position, parcel, size_bytes, EVENTS.taken())

    def tell_pauses(self) -> None:
        """Records what the collections of a step have taken."""
        num, total_s = self.pauses.taken()
        if num:
            EVENTS.add("worker_gc", total_s, items=num)

    def make(self, step: Step) -> tuple[Parcel, int]:
        """One batch as a parcel, and the bytes that its step has taken."""
        memory, num_items = StepMemory(self.slots, EVENTS), len(step.ids)
        self.stage, began_s = "fetch", time.perf_counter()
        fetched = self.job.work.fetch(step, memory)
        fetched_bytes, fetched_s = memory.size_bytes, time.perf_counter()
        EVENTS.add("fetch", fetched_s - began_s, items=num_items, size_bytes=fetched_bytes)
        self.stage = "run"
        batch = self.job.work.run(step, fetched, memory)
        run_bytes, run_s = memory.size_bytes - fetched_bytes, time.perf_counter()
        EVENTS.add("run", run_s - fetched_s, items=num_items, size_bytes=run_bytes)
        parcel = self.pack(batch)
        EVENTS.add("send", time.perf_counter() - run_s, items=num_items)
        return parcel, max(memory.size_bytes, sum(sent.size_bytes for sent in parcel.ranges))

    def pack(self, batch: Any) -> Parcel:
        """The batch as a parcel.

        Raises:
            WorkerError: It holds something that cannot be pickled.
        """
        try:
            return Packer(self.slots).pack(batch)
        except Exception as error:
            raise WorkerError(
                "a batch cannot be sent from a worker process to the trainer",
                got=f"{type(error).__qualname__}: {error}",
                accepted="what pickle or cloudpickle can handle",
                remedy='Return arrays, tensors and plain objects, or use engine="threads".',
            ) from error


def main(told: dict[str, Any]) -> None:
    """Runs a worker process from its first to its last moment."""
    seat = Seat(**told)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes of a terminal; the trainer decides
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    if seat.dies_with_thread:
        die_with(seat.trainer)
    die_first()
    faulthandler.enable(file=2)
    EVENTS.in_use = True
    line = Line(seat.control)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):  # the trainer does not need it any more
        worker = start(seat, line)
        if worker is not None:
            worker.serve()
    atexit._run_exitfuncs()  # noqa: SLF001 - what the interpreter does, without taking itself apart, which is slow
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):  # code of the user may have closed them
            stream.flush()
    os._exit(0)


def start(seat: Seat, line: Line) -> Worker | None:
    """Takes up the work; None where that fails, which the trainer is told.

    The collector rests meanwhile, and passes over all that is there by then ever after: imports and work live as long
    as the process.
    """
    gc.disable()
    try:
        for module in seat.preload:
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
        brief = line.brief()
        file = SharedFile(seat.tasks)
        board = Board(file.array(brief.board_offset, board_bytes(brief.num_workers)))
        watch(seat.control, board, seat.number, brief.idle_s)
        return take_up(seat, brief, line, TaskTaker(file, seat.tickets, board))
    finally:
        gc.freeze()
        seat.pass_the_start_on()


def take_up(seat: Seat, brief: Brief, line: Line, tasks: TaskTaker) -> Worker | None:
    """Unpacks the work, and lets the user's code prepare for it."""
    what = "loading the dataset in a worker process"
    try:
        contents = read_contents(seat.work, brief.contents)
        sys.argv = list(contents.argv)
        job: Job = read_work(seat.work, contents)
        os.close(seat.work)  # what is mapped stays
        worker = Worker(seat, brief, line, tasks, job)
        if brief.num_threads is not None:
            limit_loaded(brief.num_threads)
        gc.enable()  # code of the user finds it as in any process, and may turn it off for good
        if job.worker_init is not None:
            what = "worker_init_fn"
            tasks.board.set_preparing(seat.number)
            job.worker_init(seat.number)
    except BaseException as error:
        if line.is_copied:
            raise
        if isinstance(error, ModuleNotFoundError):
            error.add_note(MODULE_ADVICE)
        line.send(Unready(carry(as_error(error, of=what))))
        return None
    tasks.board.set_ready(seat.number, peak_bytes())
    return worker
