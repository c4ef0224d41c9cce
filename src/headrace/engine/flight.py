"""The steps of one iteration between the iterator of steps and the consumer: who does what next.

A flight has no thread of its own. It is a set of jobs for the shared threads, each of which does one piece of work and
submits what has become possible through it:

- `advance` (I/O): pulls the next step; at most one such job exists. When its bytes are admitted, `board` fetches them.
- `run_next` (workers): makes the batch of the earliest fetched step. Where fetching waits for nothing, the same thread
  then pulls and fetches the next step, and goes on with it: to wake another one takes longer.
- `deliver` (consumer): hands over the batch whose turn it is, which makes room for another step. Another thread lets go
  of the batch before it, and pulls that step.

The bytes of a step are admitted once, for fetching and running together. So a fetched step never waits for memory, and
later steps cannot hold what an earlier one needs to be finished.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack

from headrace._native import Pool
from headrace.contracts import Delivered, Step, StepWork
from headrace.engine.arrivals import Arrivals
from headrace.engine.exits import as_error
from headrace.engine.flight_options import FlightOptions
from headrace.engine.lifetime import Lifetime
from headrace.engine.passage import Ending, Passage, StepMemory
from headrace.engine.shared import SHARED_WORKERS
from headrace.engine.step_errors import at_step
from headrace.engine.thread_group import ThreadLease, on_a_group_thread
from headrace.errors import LoaderClosedError

STEP_OVERHEAD_BYTES = 64 << 10
"""Booked for a step at least, so that steps of a few bytes do not run ahead by the million."""


class Flight:
    """One iteration. Made and started by an engine; what is done in it is timed on the way."""

    def __init__(self, work: StepWork, steps: Iterator[Step], options: FlightOptions) -> None:
        self.work = work
        self.steps = steps
        self.options = options
        self.recorder = options.recorder
        self.io = SHARED_WORKERS.io
        self.workers = SHARED_WORKERS.workers
        self.leases: list[ThreadLease] = []
        self.held = ExitStack()
        self.lifetime = Lifetime(self.clean_up, self.io.submit)
        self.account = options.budget.open(self.granted, limit_bytes=options.limit_bytes)
        self.arrivals = Arrivals()
        self.lock = threading.Lock()
        self.pending: Passage | None = None
        self.fetched: list[Passage] = []
        self.worn: deque[Delivered] = deque()
        self.aboard: dict[int, Step] = {}
        self.num_pulled = 0
        self.num_fetching = 0
        self.num_running = 0
        self.num_in_flight = 0
        self.advancing = False
        self.scouting = False
        """Whether a step of unknown size is on its way, which no other follows before it is made."""
        self.row_bytes: int | None = None
        """What a row of the heaviest step has taken that was made up to now."""
        self.ended = False

    # --- beginning and end

    def start(self) -> None:
        """Takes what is needed for the time of the iteration, and begins to look ahead."""
        SHARED_WORKERS.enter(self)
        try:
            self.held.enter_context(self.options.resources())
            self.leases.append(self.io.lease(self.options.num_io_threads))
            self.leases.append(self.workers.lease(self.options.num_runners))
        except BaseException:
            self.close()
            raise
        self.kick()

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends the flight, waits a little for work that has begun, and gives everything back. Idempotent.

        Args:
            kind: What a later call for a batch raises.
        """
        if self.lifetime.forked:
            return
        self.lifetime.close(kind)
        self.arrivals.wake()
        may_wait = not on_a_group_thread()
        self.lifetime.settle(may_wait=may_wait)
        if may_wait:
            self.io.settle()
            self.workers.settle()

    def abandon(self) -> None:
        """Ends the flight without waiting and without taking a lock; the threads clean up."""
        self.lifetime.abandon()

    def clean_up(self) -> None:
        """Gives back memory, resources and threads; called once, when nobody is at work."""
        try:
            self.steps = iter(())
            self.pending, self.fetched = None, []
            self.worn.clear()
            self.arrivals.clear()
            self.account.close()
            self.held.close()
        finally:
            for lease in self.leases:
                lease.release()
            SHARED_WORKERS.leave(self)

    # --- I/O threads

    def may_pull(self) -> bool:
        """Whether the next step may be pulled now; who is told so has to."""
        with self.lock:
            full = self.num_fetching >= self.options.num_io_threads or self.num_in_flight >= self.options.max_in_flight
            alone = self.scouting and self.num_in_flight > 0
            if full or alone or self.advancing or self.ended or self.lifetime.closed:
                return False
            self.advancing = True
            return True

    def kick(self) -> bool:
        """Has the next step pulled, where that is possible now; tells whether it is."""
        if self.may_pull():
            self.io.submit(self.advance)
            return True
        return False

    def advance(self) -> None:
        """Job: pulls a step, and fetches it when there is room for it."""
        if self.lifetime.enter():
            try:
                self.worn.clear()
                if self.pull():
                    self.board()
                    self.kick()
            finally:
                self.lifetime.leave()

    def granted(self) -> None:
        """From the budget: the pending step has room now."""
        self.io.submit(self.board_granted)

    def board_granted(self) -> None:
        """Job: fetches the step that waited for room."""
        if self.lifetime.enter():
            try:
                if self.pending is not None:
                    self.recorder.wait("budget", time.perf_counter() - self.pending.ready_s)
                self.board()
                self.kick()
            finally:
                self.lifetime.leave()

    def pull(self) -> bool:
        """Takes the next step from the iterator; True when its bytes are admitted."""
        position, started_s, step = self.num_pulled, time.perf_counter(), None
        self.num_pulled += 1
        try:
            step = next(self.steps, None)
            size_bytes = self.estimate(step) if step is not None else 0
        except BaseException as error:  # noqa: BLE001 - whatever it is, it belongs to the consumer
            self.end(position, at_step(step, "order", as_error(error, step)))
            return False
        if step is None:
            self.end(position)
            return False
        self.scouting = size_bytes is None
        charged_bytes = max(size_bytes or 0, STEP_OVERHEAD_BYTES)
        self.pending = Passage(position, step, self.memory_for(charged_bytes), charged_bytes)
        self.pending.ready_s = time.perf_counter()
        self.recorder.add("order", self.pending.ready_s - started_s, items=len(step.ids))
        return self.account.admit(self.pending.charged_bytes)

    def estimate(self, step: Step) -> int | None:
        """What the work says of a step, or else what earlier ones have taken; None where none was made yet."""
        size_bytes = self.work.size_bytes(step)
        if size_bytes is None and self.row_bytes is not None:
            return self.row_bytes * len(step.ids)
        return size_bytes

    def memory_for(self, charged_bytes: int) -> StepMemory:
        """Memory of one step; what can be out at once is all that is in flight, and the consumer's batch."""
        num_at_once = min(self.options.max_in_flight, self.account.most_steps(charged_bytes)) + 1
        if self.scouting:
            num_at_once = 0  # nobody knows how many of them fit
        return StepMemory(self.options.slots, self.recorder, num_at_once=num_at_once)

    def board(self) -> None:
        """Fetches the pending step, after it has made way for the next one where that takes a while."""
        passage, self.pending = self.pending, None
        if passage is None:
            return
        with self.lock:
            self.advancing = False
            self.num_fetching += 1
            self.num_in_flight += 1
            self.aboard[passage.position] = passage.step
        if not self.options.is_prompt():
            self.kick()
        self.fetch(passage)
        with self.lock:
            self.num_fetching -= 1

    def fetch(self, passage: Passage) -> None:
        """Gets the bytes of one step, and hands it to the workers."""
        step, started_s = passage.step, time.perf_counter()
        try:
            passage.fetched = self.work.fetch(step, passage.memory)
        except BaseException as error:  # noqa: BLE001
            self.end(passage.position, at_step(step, "fetch", as_error(error, step)))
            return
        passage.ready_s = time.perf_counter()
        size_bytes = passage.memory.size_bytes
        self.recorder.add("fetch", passage.ready_s - started_s, items=len(step.ids), size_bytes=size_bytes)
        with self.lock:
            heapq.heappush(self.fetched, passage)
            called = self.num_running < self.options.num_runners
            self.num_running += called
        if called:
            self.workers.submit(self.run_next)

    # --- workers

    def run_next(self) -> None:
        """Job: makes the earliest batch that can be made, and the next ones as long as nobody else has a job."""
        if not self.lifetime.enter():
            return
        try:
            while self.make_next():
                if not self.workers.jobs.empty():
                    self.workers.submit(self.run_next)  # behind the jobs of other loaders
                    break
        finally:
            self.lifetime.leave()

    def make_next(self) -> bool:
        """Makes a batch, and sees to it that more can be made; whether this thread has to go on."""
        with self.lock:
            passage = heapq.heappop(self.fetched) if self.fetched else None
        if passage is not None:
            self.run(passage)
            del passage
        self.worn.clear()
        while self.options.is_prompt() and self.may_pull():
            if self.pull():
                self.board()
        with self.lock:
            again = bool(self.fetched) and self.lifetime.closed is None
            self.num_running -= not again
        self.kick()  # also where a batch was let go of in between: the consumer has relied on this thread
        return again

    def run(self, passage: Passage) -> None:
        """Makes one batch, and sends it to the consumer."""
        step, memory, started_s = passage.step, passage.memory, time.perf_counter()
        self.recorder.wait("run", started_s - passage.ready_s)
        fetched_bytes = memory.size_bytes
        try:
            Pool.set_turn(passage.turn)
            passage.batch = self.work.run(step, passage.fetched, memory)
        except BaseException as error:  # noqa: BLE001
            self.end(passage.position, at_step(step, "run", as_error(error, step)))
            return
        finally:
            passage.fetched = None
        busy_s = time.perf_counter() - started_s
        self.recorder.add("run", busy_s, items=len(step.ids), size_bytes=memory.size_bytes - fetched_bytes)
        self.weigh(passage)
        if self.lifetime.closed is None:
            self.arrivals.put(passage)

    def weigh(self, passage: Passage) -> None:
        """Books what a step has turned out to take, and lets others follow one whose size was not known."""
        size_bytes, num_rows = passage.memory.size_bytes, max(1, len(passage.step.ids))
        if size_bytes > passage.charged_bytes:
            self.account.correct(passage.charged_bytes, size_bytes)
            passage.charged_bytes = size_bytes
        self.row_bytes = max(self.row_bytes or 0, -(-size_bytes // num_rows))
        self.scouting = False

    def end(self, position: int, error: BaseException | None = None) -> None:
        """Has the flight end at this position, where it raises the error; no further step is begun."""
        self.ended = True
        self.arrivals.put(Ending(position, error))

    # --- consumer

    def deliver(self, passage: Passage, worn: Delivered | None) -> Delivered:
        """Hands a batch over; its memory is the consumer's from here on, and the next step may begin.

        Args:
            passage: The step whose turn it is.
            worn: What was handed over before. Another thread drops it once the consumer, who is about to, has: when a
                tensor dies, torch gives up the GIL, and a thread that waits for it takes the consumer's core as well.
        """
        started_s = time.perf_counter()
        self.aboard.pop(passage.position, None)
        self.account.give(passage.charged_bytes)
        self.make_way(worn)
        busy_s, size_bytes = time.perf_counter() - started_s, passage.memory.size_bytes
        self.recorder.add("deliver", busy_s, items=len(passage.step.ids), size_bytes=size_bytes)
        return Delivered(step=passage.step, batch=passage.batch)

    @property
    def is_starting(self) -> bool:
        """Whether those who do the work are not there yet."""
        return False

    def give_up(self) -> Step | None:
        """The consumer has lost patience. Tells for which step, where that is known."""
        return self.aboard.get(self.arrivals.next_position)

    def make_way(self, worn: Delivered | None) -> None:
        """Sees to it that a batch is let go of and the next step is pulled.

        Where the next batch is ready, or fetching waits for nothing, there is no hurry: the first worker that has made
        another one does it. A thread that the consumer wakes up takes the consumer's core, and a native thread may get
        that for some milliseconds.
        """
        self.worn.clear()  # what no thread has come to since the last batch
        if worn is not None:
            self.worn.append(worn)
        with self.lock:
            self.num_in_flight -= 1
            no_hurry = self.num_running > 0 and (self.arrivals.num_waiting() > 0 or self.options.is_prompt())
        if not no_hurry and not self.kick() and self.worn:
            self.io.submit(self.worn.clear)
        if self.lifetime.closed is not None:  # perhaps there is no thread left
            self.worn.clear()
