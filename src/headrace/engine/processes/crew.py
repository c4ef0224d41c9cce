"""The worker processes of one engine, from their start to their end."""

from __future__ import annotations

import _thread
import atexit
import select
import threading
import time
import weakref
from typing import Protocol

from headrace._base.forks import FORKS, renew_after_fork
from headrace.engine.processes.anonymous_file import anonymous_file
from headrace.engine.processes.board import Board, board_bytes
from headrace.engine.processes.job import Job
from headrace.engine.processes.launch import CrewOptions, Desk, launch
from headrace.engine.processes.member import LEAVE_S, Member
from headrace.engine.processes.messages import Message
from headrace.engine.processes.pipe import Bell, Pipe
from headrace.engine.processes.ranges import HEADER_BYTES, Ranges
from headrace.engine.processes.standard_streams import occupy_standard_streams
from headrace.engine.processes.tasks import TaskQueue
from headrace.engine.processes.windows import SharedFile
from headrace.engine.refusals import no_process


class Listener(Protocol):
    """Whom the workers tell what they have done."""

    bell: Bell

    def hear(self, member: Member, message: Message) -> None:
        """A message has arrived."""

    def lose(self, member: Member) -> None:
        """A worker has ended."""


class Crew:
    """Worker processes that have the same work.

    Ends when it is told to, when the last reference to it goes, and with the program.
    """

    def __init__(self, job: Job, options: CrewOptions, *, aside: bool = False) -> None:
        self.options = options
        self.turn = threading.RLock()
        self.members: list[Member] = []
        self.over = True  # until there is something to end
        self.broken = False
        self.iteration = 0
        self.listener: Listener | None = None
        self.poller = select.poll()
        self.speakers: dict[int, Member] = {}
        occupy_standard_streams()
        self.file = SharedFile(anonymous_file("tasks"))
        self.tickets = [Pipe() for _ in range(options.num_workers if options.bound else 1)]
        self.ranges = Ranges(self.file)
        size_bytes = board_bytes(options.num_workers)
        board_offset = self.ranges.make(size_bytes).offset + HEADER_BYTES
        self.board = Board(self.file.array(board_offset, size_bytes))
        self.queue = TaskQueue(self.ranges, self.tickets)
        FORKS.watch()
        renew_after_fork(self)
        CREWS.add(self)
        self.over = False
        try:
            desk = Desk(tickets=self.tickets, file=self.file, board_offset=board_offset)
            launch(job, options, desk, self.members, aside=aside)
        except BaseException:
            self.end(at_once=True)
            raise

    # --- iterations

    def rouse(self) -> bool:
        """Begins an iteration, and tells whether all workers are there for it.

        First it is said, then it is looked: a worker that was about to leave for want of work either hears of it, or
        has said before that it leaves.
        """
        if self.over:
            return False
        self.iteration += 1
        self.board.begin(self.iteration)
        return self.is_whole

    @property
    def is_whole(self) -> bool:
        """Whether all workers are there, and none of them is about to leave."""
        gone = (member.has_ended() or self.board.is_leaving(member.number) for member in self.members)
        return not (self.over or self.broken or any(gone))

    def attend(self, listener: Listener) -> int:
        """The number of the iteration that was begun, whose messages go to this listener from here on."""
        with self.turn:
            self.listener = listener
            self.poller = select.poll()
            self.speakers = {fd: member for member in self.members for fd in member.descriptors()}
            for fd in (listener.bell.read_end, *self.speakers):
                self.poller.register(fd, select.POLLIN)
            return self.iteration

    def rest(self, listener: Listener) -> None:
        """Ends an iteration: workers finish the step that they are at, and pass over those that wait."""
        if self.listener is listener:
            self.listener = None
            if not self.over:
                self.board.rest()
                if self.options.bound:
                    self.queue.call_to_rest()
            if self.broken or not self.options.idle_s:
                self.end(at_once=self.broken)

    def listen(self, listener: Listener, until_s: float | None = None) -> bool:
        """Waits until a worker or the listener's bell says something, and has the listener told.

        Args:
            listener: Who is told.
            until_s: When to stop waiting, as a moment of `time.monotonic`; None: never.

        Returns:
            Whether it may go on listening: False when the bell rang, the time is over, or the listener's iteration is.
        """
        with self.turn:
            if self.over or self.listener is not listener:
                return False
            wait_ms = None if until_s is None else max(0.0, until_s - time.monotonic()) * 1e3
            ready = [fd for fd, _ in self.poller.poll(wait_ms)]
            try:
                for member in dict.fromkeys(self.speakers[fd] for fd in ready if fd in self.speakers):
                    self.hear(member, listener)
            except BaseException:  # Ctrl-C: half a message may be lost
                self.broken = True
                raise
            return bool(ready) and listener.bell.read_end not in ready

    @property
    def is_starting(self) -> bool:
        """Whether no worker has taken up its work yet."""
        return not (self.over or self.broken or any(self.board.is_ready(member.number) for member in self.members))

    def hear(self, member: Member, listener: Listener) -> None:
        """Passes on what a worker has sent; or that it is gone."""
        try:
            for message in member.messages():
                listener.hear(member, message)
        except EOFError:
            if self.over:
                return
            self.broken = True
            for fd in member.descriptors():
                self.poller.unregister(fd)
            member.see_off()
            listener.lose(member)

    # --- end

    def end(self, *, at_once: bool = False) -> None:
        """Ends all processes, and gives everything back. Idempotent.

        Args:
            at_once: Kills workers rather than let them finish.
        """
        if self.over:
            return
        self.over = True
        self.board.rest()
        for pipe in self.tickets:
            pipe.close_write_end()
        for member in self.members:
            member.hang_up()
            if at_once or not self.board.is_ready(member.number):
                member.kill()
        until_s = time.monotonic() + LEAVE_S
        for member in self.members:
            if not member.wait(until_s):
                member.kill()
                member.wait(time.monotonic() + LEAVE_S)
        with self.turn:  # who still listens has heard the line go dead, and looks at `over` before the next wait
            self.close()

    def close(self) -> None:
        """Closes all descriptors."""
        for pipe in self.tickets:
            pipe.close()
        self.file.close()
        for member in self.members:
            member.close()

    def __del__(self) -> None:
        if not self.over:
            # May run inside any code, also code that holds a lock: waiting for processes is left to a thread.
            _thread.start_new_thread(self.end, ())

    def after_fork(self) -> None:
        """In a forked child: the processes are the parent's, and must see its end when it comes."""
        self.turn = threading.RLock()
        if not self.over:
            self.over = True
            for member in self.members:
                member.forget()
            self.close()


def start_crew(job: Job, options: CrewOptions, *, aside: bool = False) -> Crew:
    """A crew; with `aside`, one that leaves a CPU to this process while it starts.

    Raises:
        OptionError: The work cannot be pickled.
        WorkerError: The system gives no process, or no descriptor.
        MemoryBudgetError: It gives no shared memory.
    """
    try:
        return Crew(job, options, aside=aside)
    except OSError as error:
        raise no_process(error, options.num_workers) from error


class Crews:
    """All crews that are there, so that none outlives the program by a moment."""

    def __init__(self) -> None:
        self.crews: weakref.WeakSet[Crew] = weakref.WeakSet()
        self.at_exit = False

    def add(self, crew: Crew) -> None:
        """Notes a crew."""
        self.crews.add(crew)
        if not self.at_exit:
            self.at_exit = True
            atexit.register(self.end)

    def end(self) -> None:
        """Ends all of them."""
        for crew in list(self.crews):
            crew.end()


CREWS = Crews()
