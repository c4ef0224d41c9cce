import contextlib
import gc
import os
import random
import signal
import threading
import time
import traceback
import weakref

import numpy as np
import pytest

from headrace import _native
from headrace.engine import SHARED_BUDGET, ByteBudget, SlotPool, Stats, ThreadEngine
from headrace.engine.thread_group import GroupThread
from headrace.errors import LoaderClosedError, OptionError, TransformError, WorkerError
from headrace.testing.engine_contract import expect_idle, expect_soon, numbers, workers_alive
from headrace.testing.step_works import STEP_BYTES, NumberWork, StepSource

PATIENCE_S = 20.0


def make(work, **options):
    defaults = {"num_workers": 2, "num_io_threads": 2, "budget": ByteBudget(64 * STEP_BYTES), "slots": SlotPool()}
    return ThreadEngine(work, **(defaults | {"recorder": Stats()} | options))


class Work:
    """A work put together from functions."""

    def __init__(self, run=lambda step: step.index, fetch=lambda _: None, size_bytes=lambda _: STEP_BYTES):
        self.run_step = run
        self.fetch_step = fetch
        self.size_of = size_bytes

    def size_bytes(self, step):
        return self.size_of(step)

    def fetch(self, step, allocate):
        return self.fetch_step(step)

    def run(self, step, fetched, allocate):
        return self.run_step(step)


def raise_in_a_user_function(step):
    raise RuntimeError("from the depth")


def test_an_error_keeps_its_traceback_and_tells_stage_and_step():
    with pytest.raises(RuntimeError, match="from the depth") as caught:
        list(make(Work(run=raise_in_a_user_function)).run(StepSource(3)))
    assert "raise_in_a_user_function" in [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert caught.value.__notes__ == ["in stage 'run' of the loader, step 0, epoch 0"]


def test_an_error_keeps_its_cause():
    def fail(step):
        try:
            raise_in_a_user_function(step)
        except RuntimeError as error:
            raise TransformError("a transform failed", key="k") from error

    with pytest.raises(TransformError) as caught:
        list(make(Work(run=fail)).run(StepSource(3)))
    assert isinstance(caught.value.__cause__, RuntimeError)
    assert caught.value.where == {"key": "k", "stage": "run", "step": 0, "epoch": 0}


def test_an_error_in_the_size_of_a_step():
    with pytest.raises(RuntimeError, match="from the depth") as caught:
        list(make(Work(size_bytes=raise_in_a_user_function)).run(StepSource(3)))
    assert "'order'" in caught.value.__notes__[0]


def test_after_an_error_nothing_is_left_without_a_garbage_collection():
    class Own(Exception):  # noqa: N818
        pass

    def fail(step):
        raise Own

    engine = make(Work(run=fail))
    gc.collect()
    gc.disable()
    try:
        try:
            list(engine.run(StepSource(3)))
        except Own as error:
            watched = weakref.ref(error)
        assert watched() is None
    finally:
        gc.enable()


def test_a_batch_that_was_overtaken_is_worked_on_first():
    pool, pixels, overtaken, ends = _native.Pool(1), np.zeros((200, 200, 3), np.uint8), threading.Event(), []
    geometry = _native.Geometry(kind="full", height=64, width=64)

    def run(step):
        num = 10 if step.index == 0 else 5000
        places, keys = np.full(num, pixels.ctypes.data, np.uint64), np.zeros(num, np.uint64)
        sides, strides = np.full(num, 200, np.int32), np.full(num, 600)
        out, rows = np.empty((num, 3, 64, 64), np.uint8), np.arange(num)
        if step.index == 0:
            overtaken.wait(PATIENCE_S)
        overtaken.set()
        _native.run_pixels(pool, geometry, places, sides, sides, strides, keys, out, rows)
        ends.append(step.index)

    list(make(Work(run=run)).run(StepSource(2)))
    assert ends == [0, 1]


class Mortal:
    """A batch that tells who let it go."""

    def __init__(self, let_go_by):
        self.let_go_by = let_go_by

    def __del__(self):
        self.let_go_by.append(threading.current_thread().name.split("-")[0])


def test_a_batch_dies_on_a_thread_of_the_engine_once_the_next_one_is_asked_for():
    let_go_by = []
    engine = make(Work(run=lambda _: Mortal(let_go_by)))
    stream = engine.run(StepSource(4))
    for num_before in range(4):
        next(stream)
        expect_soon(lambda num=num_before: len(let_go_by) == num, "a batch before the last one is kept")
    assert let_go_by == ["headrace"] * 3
    stream.close()
    assert let_go_by[3:] == ["MainThread"]
    engine.close()


def test_a_loader_that_is_ahead_leaves_the_next_step_to_its_workers():
    made, go_on = [], threading.Event()

    def run(step):
        if step.index == 3:
            go_on.wait(PATIENCE_S)
        made.append(step.index)

    engine, steps = make(Work(run=run), max_in_flight=4), StepSource(20)
    stream = engine.run(steps)
    expect_soon(lambda: len(made) == 3 and steps.num_pulled == 4, "the lookahead is not filled")
    next(stream)
    next(stream)
    assert steps.num_pulled == 4
    next(stream)  # none is ready after it: there is a hurry
    expect_soon(lambda: steps.num_pulled == 7, "the lookahead is not filled up again")
    go_on.set()
    assert [delivered.step.index for delivered in stream] == list(range(3, 20))
    engine.close()


def test_batches_do_not_pile_up_while_all_io_threads_read():
    let_go_by, read_on = [], threading.Event()

    def fetch(step):
        if step.index >= 4:
            read_on.wait(PATIENCE_S)

    engine = make(Work(run=lambda _: Mortal(let_go_by), fetch=fetch))
    stream = engine.run(StepSource(8))
    for _ in range(4):
        next(stream)
    assert len(let_go_by) >= 2
    read_on.set()
    engine.close()


def test_a_batch_that_the_consumer_still_holds_stays():
    let_go_by = []
    engine = make(Work(run=lambda _: Mortal(let_go_by)))
    kept = list(engine.run(StepSource(5)))
    engine.close()
    assert not let_go_by
    kept.clear()
    assert let_go_by == ["MainThread"] * 5


def test_no_batch_is_kept_after_the_end():
    let_go_by = []
    engine = make(Work(run=lambda _: Mortal(let_go_by)))
    stream = engine.run(StepSource(3))
    for _ in range(3):
        next(stream)
    with pytest.raises(StopIteration):
        next(stream)
    assert len(let_go_by) == 3


def test_what_was_fetched_goes_when_the_batch_is_made():
    class Bytes:
        pass

    watched = []

    def fetch(step):
        fetched = Bytes()
        watched.append(weakref.ref(fetched))
        return fetched

    engine = make(Work(fetch=fetch))
    stream = engine.run(StepSource(5))
    for _ in range(5):
        next(stream)
    expect_soon(lambda: not any(ref() for ref in watched), "fetched bytes are held")
    engine.close()


def test_threads_do_not_keep_a_dropped_loader_alive():
    work = Work()
    engine = make(work)
    stream = engine.run(StepSource())
    next(stream)
    watched = weakref.ref(work)
    del work, engine, stream
    expect_soon(lambda: watched() is None, "the work of a dropped loader is alive")


def test_a_finished_loader_is_freed_without_a_garbage_collection():
    engine = make(NumberWork())
    gc.collect()
    gc.disable()
    try:
        stream = engine.run(StepSource(3))
        numbers(stream)
        watched = [weakref.ref(stream.source.flight), weakref.ref(engine)]
        del stream, engine
        assert [ref() for ref in watched] == [None, None]
    finally:
        gc.enable()


def test_a_loader_dropped_while_it_is_iterated_goes_on():
    assert numbers(make(NumberWork()).run(StepSource(10))) == list(range(10))


@pytest.mark.parametrize("num_taken", [0, 3])
def test_ctrl_c_while_waiting_is_prompt(num_taken):
    """The step that is waited for never ends by itself: without promptness this test hangs."""
    may_end = threading.Event()
    before = workers_alive()

    def run(step):
        if step.index >= num_taken:
            may_end.wait(PATIENCE_S)

    stream = make(Work(run=run)).run(StepSource())
    for _ in range(num_taken):
        next(stream)
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert not may_end.is_set()
    may_end.set()
    with pytest.raises(LoaderClosedError):
        next(stream)
    expect_idle(before)


def test_a_close_that_ctrl_c_has_cut_short_is_completed_when_the_stream_is_dropped():
    before = workers_alive()
    stream = make(NumberWork()).run(StepSource(1))
    flight = stream.source.flight
    expect_soon(lambda: flight.ended, "the steps are not pulled")
    flight.lifetime.close(LoaderClosedError)
    del stream
    expect_idle(before)


def test_a_closed_engine_keeps_no_memory():
    slots = SlotPool()
    engine = make(NumberWork(), slots=slots)
    numbers(engine.run(StepSource(5)))
    engine.close()
    assert slots.free_bytes == 0
    assert not slots.returned


def test_close_in_another_thread_wakes_the_consumer():
    may_end = threading.Event()
    stream = make(Work(run=lambda _: may_end.wait(PATIENCE_S))).run(StepSource())
    threading.Timer(0.05, may_end.set).start()
    closer = threading.Timer(0.02, stream.close)
    closer.start()
    with pytest.raises(LoaderClosedError):
        list(stream)
    closer.join()


def test_close_wakes_a_consumer_that_waits_for_a_step_that_hangs(monkeypatch):
    monkeypatch.setattr("headrace.engine.lifetime.CLOSE_GRACE_S", 0.01)
    may_end = threading.Event()
    before = workers_alive()
    stream = make(Work(run=lambda _: may_end.wait(PATIENCE_S))).run(StepSource())
    threading.Timer(0.05, stream.close).start()
    with pytest.raises(LoaderClosedError):
        next(stream)
    assert not may_end.is_set()
    may_end.set()
    expect_idle(before)


def test_close_gives_up_waiting_for_a_step_that_hangs(monkeypatch):
    monkeypatch.setattr("headrace.engine.lifetime.CLOSE_GRACE_S", 0.05)
    may_end, begun = threading.Event(), threading.Event()

    def hang(step):
        begun.set()
        may_end.wait(PATIENCE_S)

    before = workers_alive()
    engine = make(Work(run=hang))
    engine.run(StepSource()).close()
    stream = engine.run(StepSource())
    begun.wait(PATIENCE_S)
    stream.close()
    assert not may_end.is_set()
    may_end.set()
    expect_idle(before)


def test_a_work_may_close_its_own_loader():
    before = workers_alive()
    stream = make(Work(run=lambda _: stream.close())).run(StepSource())
    with contextlib.suppress(LoaderClosedError):
        next(stream)
    expect_idle(before)


def test_a_loader_inside_the_transform_of_another():
    """As many outer steps at once as there are threads, each of which waits for steps of its own."""

    def run(step):
        return numbers(make(NumberWork()).run(StepSource(3)))

    assert [delivered.batch for delivered in make(Work(run=run)).run(StepSource(12))] == [[0, 1, 2]] * 12


def test_loaders_share_threads():
    engines = [make(NumberWork(), num_workers=num, num_io_threads=num) for num in (2, 3)]
    streams = [engine.run(StepSource()) for engine in engines]
    for stream in streams:
        next(stream)
    threads = [thread for thread in threading.enumerate() if isinstance(thread, GroupThread)]
    assert len(threads) == 3 + 4
    for engine in engines:
        engine.close()


def test_loaders_share_one_budget_and_all_move():
    engines = [make(NumberWork(), budget=SHARED_BUDGET, limit_bytes=3 * STEP_BYTES) for _ in range(3)]
    seen = [
        tuple(delivered.step.index for delivered in deliveries)
        for deliveries in zip(*(engine.run(StepSource(20)) for engine in engines), strict=True)
    ]
    assert seen == [(number,) * 3 for number in range(20)]
    assert SHARED_BUDGET.used_bytes == 0


def test_two_consumers_of_one_stream_get_each_batch_once():
    stream = make(NumberWork()).run(StepSource(200))
    seen = []
    consumers = [threading.Thread(target=lambda: seen.extend(numbers(stream))) for _ in range(2)]
    for consumer in consumers:
        consumer.start()
    for consumer in consumers:
        consumer.join()
    assert sorted(seen) == list(range(200))


def test_steps_that_are_larger_than_they_said_are_charged():
    budget = ByteBudget(10 * STEP_BYTES)

    class Large(NumberWork):
        def run(self, step, fetched, allocate):
            return allocate((3 * STEP_BYTES,), np.uint8)

    engine = make(Large(), budget=budget)
    stream = engine.run(StepSource())
    expect_soon(lambda: budget.used_bytes > 7.5 * STEP_BYTES, "what was allocated is not charged")
    engine.close()
    stream.close()
    assert budget.used_bytes == 0


def test_resources_are_held_from_start_to_end():
    held = []

    @contextlib.contextmanager
    def resources():
        held.append("entered")
        yield
        held.append("left")

    engine = make(NumberWork(), resources=resources)
    assert held == []
    list(engine.run(StepSource(2)))
    assert held == ["entered", "left"]
    engine.close()


def test_resources_that_cannot_be_had_leave_nothing_behind():
    def resources():
        raise OSError("none")

    before = workers_alive()
    engine = make(NumberWork(), resources=resources)
    with pytest.raises(OSError, match="none"):
        engine.run(StepSource(2))
    assert workers_alive() <= before
    engine.close()


def test_threads_that_cannot_be_had_leave_nothing_behind(monkeypatch):
    def refuse(thread):
        raise RuntimeError("can't start new thread")

    before = workers_alive()
    engine = make(NumberWork())
    monkeypatch.setattr(threading.Thread, "start", refuse)
    with pytest.raises(WorkerError, match="no further thread"):
        engine.run(StepSource(2))
    monkeypatch.undo()
    assert workers_alive() <= before
    assert numbers(engine.run(StepSource(2))) == [0, 1]
    engine.close()


def test_every_stage_is_measured():
    stats = Stats()
    numbers(make(NumberWork(), recorder=stats, num_workers=1, num_io_threads=1, max_in_flight=2).run(StepSource(20)))
    snapshot = stats.snapshot()
    for stage in ("order", "fetch", "run", "deliver"):
        assert snapshot.stages[stage].busy.num == 20
        assert snapshot.stages[stage].items == 80
    assert snapshot.stages["fetch"].size_bytes == 20 * 8192
    assert snapshot.stages["run"].size_bytes == 20 * 32768
    assert snapshot.stages["run"].waiting.num == 20
    assert snapshot.stages["deliver"].waiting.num == 20
    assert snapshot.queues["ready"].num_looks == 20
    assert snapshot.counts["fresh_slots"] == 6  # twice as many as are in flight and with the consumer


def test_memory_is_at_its_height_after_the_first_steps():
    stats = Stats()
    naps = random.Random(0)
    stream = make(NumberWork(), recorder=stats, max_in_flight=4).run(StepSource(200))
    for delivered in stream:
        if delivered.step.index > 10:
            assert stats.snapshot().counts["fresh_slots"] == 10  # of the bytes and of the batches: five each
            time.sleep(naps.choice((0.0, 0.0, 0.002)))


def test_memory_that_is_made_stays_within_the_budget():
    stats, budget = Stats(), ByteBudget(8 * STEP_BYTES)
    numbers(make(NumberWork(), recorder=stats, budget=budget).run(StepSource(100)))
    assert stats.snapshot().counts["fresh_slots"] <= 2 * (8 + 1)


def test_waiting_for_the_budget_is_measured():
    stats = Stats()
    list(make(NumberWork(), recorder=stats, budget=ByteBudget(2 * STEP_BYTES)).run(StepSource(20)))
    assert stats.snapshot().stages["budget"].waiting.num > 0


@pytest.mark.parametrize("option", ["num_workers", "num_io_threads", "max_in_flight", "num_runners"])
def test_options_below_one_are_refused(option):
    with pytest.raises(OptionError, match=option):
        make(NumberWork(), **{option: 0})
