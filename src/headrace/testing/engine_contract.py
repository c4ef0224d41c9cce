"""What every engine promises, as checks: `for check in CHECKS: check(kit)`.

The checks see an engine from outside only (steps pulled, batches delivered, threads and processes alive), so that they
hold for engines of threads and of processes alike. A check that fails raises `AssertionError` with what it saw.
"""

from __future__ import annotations

import gc
import os
import random
import signal
import tempfile
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import numpy as np
import psutil

from headrace.contracts import BatchStream, Engine, StepWork
from headrace.errors import HeadraceError, LoaderClosedError, StaleIteratorError, WorkerError
from headrace.testing.step_works import PATIENCE_S, STEP_BYTES, NumberWork, PatientWork, StepSource, UnknownWork


class MakeEngine(Protocol):
    """Makes the engine under test."""

    def __call__(self, work: StepWork, *, limit_bytes: int, max_in_flight: int | None) -> Engine:
        """An engine with two workers at least.

        Args:
            work: Its work.
            limit_bytes: Memory budget.
            max_in_flight: Bound of the steps in flight; None for none.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineKit:
    """An engine to check."""

    make: MakeEngine
    looks_ahead: bool = True
    """False for an engine that makes a batch when it is asked for."""
    keeps_processes: bool = False
    """True for an engine whose processes stay for the next iteration, until it is closed or dropped."""

    def engine(self, work: StepWork, *, num_steps: int = 64, max_in_flight: int | None = None) -> Engine:
        """An engine whose budget has room for this many steps."""
        return self.make(work, limit_bytes=num_steps * STEP_BYTES, max_in_flight=max_in_flight)

    def at_work(self) -> set[str]:
        """What is there on account of an iteration: `workers_alive`, but for processes that may stay."""
        alive = workers_alive()
        return {one for one in alive if not one.startswith("process")} if self.keeps_processes else alive

    def expect_rest(self, before: set[str]) -> None:
        """Waits until nothing is left of an iteration."""
        expect_soon(lambda: self.at_work() <= before, f"left of an iteration: {self.at_work() - before}")


Check: TypeAlias = Callable[[EngineKit], None]


def expect(condition: bool, what: str) -> None:  # noqa: FBT001 - reads like `assert`, and works under `python -O`
    """Raises AssertionError unless the condition holds."""
    if not condition:
        raise AssertionError(what)


def expect_error(kind: type[BaseException], call: Callable[[], Any]) -> BaseException:
    """The error of this kind that the call raises."""
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")


def expect_soon(condition: Callable[[], bool], what: str) -> None:
    """Waits until the condition holds; raises AssertionError when it never does."""
    until_s = time.monotonic() + PATIENCE_S
    while not condition():
        expect(time.monotonic() < until_s, what)
        gc.collect()
        time.sleep(0.001)


def workers_alive() -> set[str]:
    """Threads and child processes that engines have started in this process."""
    threads = {thread.name for thread in threading.enumerate() if thread.name.startswith("headrace")}
    return threads | {f"process {child.pid}" for child in psutil.Process().children(recursive=True)}


def expect_idle(before: set[str]) -> None:
    """Waits until no thread and no process is left that was not there before."""
    expect_soon(lambda: workers_alive() <= before, f"left behind: {workers_alive() - before}")


def numbers(stream: BatchStream) -> list[int]:
    """Steps in the order of their delivery; each batch must hold the number of its step in all places."""
    seen = []
    for delivered in stream:
        number = delivered.step.index
        expect(bool(np.all(delivered.batch == number)), f"the batch of step {number} holds {delivered.batch}")
        seen.append(number)
    return seen


def check_order(kit: EngineKit) -> None:
    """Batches come in the order of the steps, each once, whatever their steps take."""
    naps = random.Random(0)
    work = NumberWork(naps_s=tuple(naps.choice((0.0, 0.0, 0.001, 0.004)) for _ in range(31)))
    before = workers_alive()
    for num in (0, 1, 2, 150):
        engine = kit.engine(work)
        expect(numbers(engine.run(StepSource(num))) == list(range(num)), f"{num} steps: wrong order or number")
        engine.close()
        expect_idle(before)


def check_several_epochs(kit: EngineKit) -> None:
    """One engine runs one iteration after another, and threads or processes do not add up."""
    engine = kit.engine(NumberWork())
    alive = []
    for _ in range(5):
        expect(numbers(engine.run(StepSource(20))) == list(range(20)), "a later epoch differs")
        alive.append(len(workers_alive()))
    expect(max(alive) == alive[0], f"workers after each epoch: {alive}")
    engine.close()


def check_kept_batches(kit: EngineKit) -> None:
    """A user may keep every batch: no memory is reused under his hands."""
    engine = kit.engine(NumberWork(), num_steps=4)
    kept = list(engine.run(StepSource(100)))
    engine.close()
    for number, delivered in enumerate(kept):
        expect(bool(np.all(delivered.batch == number)), f"the kept batch {number} was overwritten")


def check_error_in_run(kit: EngineKit) -> None:
    """An error of `run` comes at its place, and after it nothing."""
    check_error(kit, NumberWork(fail_run=7, naps_s=(0.002, 0.0)), StepSource(30))


def check_error_in_fetch(kit: EngineKit) -> None:
    """An error of `fetch` comes at its place, and after it nothing."""
    check_error(kit, NumberWork(fail_fetch=7, naps_s=(0.002, 0.0)), StepSource(30))


def check_error_in_steps(kit: EngineKit) -> None:
    """An error of the iterator of steps comes at its place, and after it nothing."""
    check_error(kit, NumberWork(naps_s=(0.002, 0.0)), StepSource(30, fail_at=7))


def check_error(kit: EngineKit, work: NumberWork, steps: StepSource) -> None:
    """Step 7 raises ValueError."""
    before = workers_alive()
    engine = kit.engine(work)
    stream = engine.run(steps)
    expect([next(stream).step.index for _ in range(7)] == list(range(7)), "batches before the error are missing")
    error = expect_error(ValueError, lambda: next(stream))
    expect(error.__traceback__ is not None, "no traceback")
    expect(any("stage" in note for note in getattr(error, "__notes__", ())), "the error does not name its stage")
    expect_error(LoaderClosedError, lambda: next(stream))
    kit.expect_rest(before)
    expect(numbers(engine.run(StepSource(3))) == [0, 1, 2], "no new iteration after an error")
    engine.close()
    expect_idle(before)


def check_own_errors(kit: EngineKit) -> None:
    """Errors of headrace keep their type and facts, and name stage and step."""
    raised = HeadraceError("a fault", shard="s.tar", key="k")
    engine = kit.engine(NumberWork(fail_run=1, error=raised))
    stream = engine.run(StepSource(4))
    next(stream)
    error = expect_error(HeadraceError, lambda: next(stream))
    where = getattr(error, "where", {})
    wanted = {"shard": "s.tar", "key": "k", "stage": "run", "step": 1, "epoch": 0}
    expect(where == wanted, f"where is {where}, not {wanted}")
    engine.close()


def check_stop_iteration(kit: EngineKit) -> None:
    """A StopIteration of the work is an error, not the end."""
    engine = kit.engine(NumberWork(fail_run=2, error=StopIteration("a slip")))
    error = expect_error(WorkerError, lambda: numbers(engine.run(StepSource(5))))
    expect(isinstance(error.__cause__, StopIteration), "the cause is lost")
    engine.close()


def check_end(kit: EngineKit) -> None:
    """After the last batch a stream stays at its end, and holds no thread."""
    before = workers_alive()
    engine = kit.engine(NumberWork())
    stream = engine.run(StepSource(3))
    numbers(stream)
    kit.expect_rest(before)
    for _ in range(3):
        expect_error(StopIteration, lambda: next(stream))
    engine.close()
    expect_idle(before)


def check_close(kit: EngineKit) -> None:
    """`close` in the middle leaves nothing behind, may be called again, and ends the stream and the engine."""
    before = workers_alive()
    for num_taken in (0, 1, 9):
        engine = kit.engine(NumberWork(naps_s=(0.001, 0.0)))
        stream = engine.run(StepSource())
        for _ in range(num_taken):
            next(stream)
        stream.close()
        stream.close()
        expect(kit.at_work() <= before, f"left of an iteration: {kit.at_work() - before}")
        expect_error(LoaderClosedError, stream.__next__)
        engine.close()
        engine.close()
        expect(workers_alive() <= before, f"left behind: {workers_alive() - before}")
        expect_error(LoaderClosedError, partial(engine.run, StepSource(1)))


def check_close_of_engine(kit: EngineKit) -> None:
    """Closing the engine ends its stream."""
    before = workers_alive()
    engine = kit.engine(NumberWork())
    stream = engine.run(StepSource())
    next(stream)
    engine.close()
    expect(workers_alive() <= before, f"left behind: {workers_alive() - before}")
    expect_error(LoaderClosedError, lambda: next(stream))


def check_break(kit: EngineKit) -> None:
    """Leaving the loop is enough, even when the stream sits in a reference cycle."""
    before = workers_alive()
    engine = kit.engine(NumberWork())
    for delivered in engine.run(StepSource()):
        if delivered.step.index == 3:
            break
    kit.expect_rest(before)
    cycle: list[Any] = [engine.run(StepSource())]
    cycle.append(cycle)
    next(cycle[0])
    del cycle
    kit.expect_rest(before)
    engine.close()
    expect_idle(before)


def check_exception_in_consumer(kit: EngineKit) -> None:
    """An exception in the loop's body ends the work once its traceback is gone."""
    before = workers_alive()
    engine = kit.engine(NumberWork())

    def consume() -> None:
        for delivered in engine.run(StepSource()):
            if delivered.step.index == 3:
                raise KeyError(3)

    expect_error(KeyError, consume)
    kit.expect_rest(before)
    engine.close()
    expect_idle(before)


def check_dropped_engine(kit: EngineKit) -> None:
    """An engine that nobody closes is gone with the last reference to it and to its streams, whichever goes first."""
    before = workers_alive()
    engine = kit.engine(NumberWork())
    numbers(engine.run(StepSource(3)))
    del engine
    expect_idle(before)
    stream = kit.engine(NumberWork()).run(StepSource(20))
    expect(numbers(stream) == list(range(20)), "a stream without its engine differs")
    del stream
    expect_idle(before)
    engine = kit.engine(NumberWork())
    stream = engine.run(StepSource())
    next(stream)
    del engine, stream
    expect_idle(before)


def check_second_iteration(kit: EngineKit) -> None:
    """A second iteration ends the first, and says so."""
    engine = kit.engine(NumberWork())
    first = engine.run(StepSource())
    next(first)
    second = engine.run(StepSource(5))
    expect_error(StaleIteratorError, lambda: next(first))
    expect(numbers(second) == [0, 1, 2, 3, 4], "the second iteration is disturbed by the first")
    engine.close()


def check_two_engines(kit: EngineKit) -> None:
    """Loops inside one another come to their end, also where each budget has room for a single step."""
    outer, inner = (kit.engine(NumberWork(), num_steps=1) for _ in range(2))
    for delivered in outer.run(StepSource(5)):
        seen = numbers(inner.run(StepSource(5)))
        expect(seen == [0, 1, 2, 3, 4], f"inner loop of step {delivered.step.index}: {seen}")
    outer.close()
    inner.close()


def check_lazy(kit: EngineKit) -> None:
    """Nothing is started and no step is pulled before `run`; then steps are pulled as far as memory allows."""
    before = workers_alive()
    engine = kit.engine(NumberWork(), num_steps=8)
    expect(workers_alive() <= before, "threads or processes before the first iteration")
    steps = StepSource()
    stream = engine.run(steps)
    if kit.looks_ahead:
        expect_soon(lambda: steps.num_pulled >= 4, f"only {steps.num_pulled} steps pulled ahead of the consumer")
    next(stream)
    engine.close()


def check_budget(kit: EngineKit) -> None:
    """Steps in flight stay within the budget, while the consumer sleeps and while it takes."""
    check_bound(kit, num_steps=6, max_in_flight=None, most=6)


def check_unknown_size(kit: EngineKit) -> None:
    """A step of unknown size goes alone: the next one is begun when it is known what the first has taken."""
    engine = kit.engine(UnknownWork(nap_s=0.05))
    times = [delivered.batch for delivered in engine.run(StepSource(20))]
    engine.close()
    expect(len(times) == 20, f"{len(times)} of 20 steps came")
    first_done_s = times[0][1]
    early = [number for number, (begun_s, _) in enumerate(times[1:], start=1) if begun_s < first_done_s]
    expect(not early, f"steps {early} were begun before the first one was done")


def check_max_in_flight(kit: EngineKit) -> None:
    """Steps in flight stay within `max_in_flight`."""
    check_bound(kit, num_steps=64, max_in_flight=3, most=3)


def check_bound(kit: EngineKit, *, num_steps: int, max_in_flight: int | None, most: int) -> None:
    """At most this many steps in flight, and one more that waits outside."""
    engine = kit.engine(NumberWork(naps_s=(0.001, 0.0)), num_steps=num_steps, max_in_flight=max_in_flight)
    steps = StepSource(60)
    stream = engine.run(steps)
    for num_taken in range(60):
        if num_taken in (0, 30):
            time.sleep(0.05)
        ahead = steps.num_pulled - num_taken
        expect(ahead <= most + 1, f"{ahead} steps pulled ahead at step {num_taken}, {most} are allowed")
        next(stream)
    engine.close()


def check_slow_step(kit: EngineKit) -> None:
    """A slow step delays nobody: later ones are made meanwhile, and delivered after it."""
    if not kit.looks_ahead:
        return
    with tempfile.TemporaryDirectory() as folder:
        engine = kit.engine(PatientWork(folder=Path(folder), wait_for=20))
        seen = [delivered.batch for delivered in engine.run(StepSource(30))]
        expect(seen == list(range(30)), f"delivered: {seen}")
        engine.close()


def check_ready(kit: EngineKit) -> None:
    """Steps go on being made while the consumer is busy elsewhere."""
    if not kit.looks_ahead:
        return
    engine = kit.engine(NumberWork(), num_steps=16)
    steps = StepSource()
    stream = engine.run(steps)
    for _ in range(3):
        pulled = steps.num_pulled
        for _ in range(4):
            next(stream)
        expect_soon(lambda pulled=pulled: steps.num_pulled >= pulled + 4, "the lookahead is not filled up again")  # type: ignore[misc]
    engine.close()


def check_fork(kit: EngineKit) -> None:
    """A forked child cannot use its parent's stream and is told so; it may iterate anew; the parent is undisturbed."""
    if not hasattr(os, "fork"):
        return
    engine = kit.engine(NumberWork())
    stream = engine.run(StepSource(40))
    seen = [next(stream).step.index]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # that forking with threads is risky is the point
        child = os.fork()
    if child == 0:
        os._exit(in_child(kit, engine, stream))
    expect(exit_code(child) == 0, "the forked child failed, or hung and was killed")
    seen += [delivered.step.index for delivered in stream]
    expect(seen == list(range(40)), f"the parent got {seen}")
    engine.close()


def in_child(kit: EngineKit, engine: Engine, stream: BatchStream) -> int:
    """Exit status of the forked child: 0 when all is as promised."""
    try:
        if kit.looks_ahead:
            expect_error(LoaderClosedError, lambda: next(stream))
        stream.close()
        expect(numbers(engine.run(StepSource(5))) == [0, 1, 2, 3, 4], "the child cannot iterate anew")
        engine.close()
    except BaseException:  # noqa: BLE001 - nothing may unwind into the parent's code
        return 1
    return 0


def exit_code(child: int) -> int:
    """Exit status of a child process, which is killed when it does not end."""
    until_s = time.monotonic() + PATIENCE_S
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > until_s:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.001)
    return os.waitstatus_to_exitcode(ended[1])


CHECKS: tuple[Check, ...] = (
    check_order,
    check_several_epochs,
    check_kept_batches,
    check_error_in_run,
    check_error_in_fetch,
    check_error_in_steps,
    check_own_errors,
    check_stop_iteration,
    check_end,
    check_close,
    check_close_of_engine,
    check_break,
    check_exception_in_consumer,
    check_dropped_engine,
    check_second_iteration,
    check_two_engines,
    check_lazy,
    check_budget,
    check_unknown_size,
    check_max_in_flight,
    check_slow_step,
    check_ready,
    check_fork,
)
