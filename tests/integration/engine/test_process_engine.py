"""What the contract of engines leaves open: what worker processes get and send, what they measure, how they start."""

import contextlib
import dataclasses
import gc
import os
import subprocess
import sys
import textwrap
import threading
import time
import traceback
import warnings
from pathlib import Path

import cloudpickle
import numpy as np
import psutil
import pytest
import torch

from headrace.engine import ByteBudget, ProcessEngine, Stats
from headrace.errors import DecodeError, OptionError, WorkerError
from headrace.testing.engine_contract import expect_idle, expect_soon, workers_alive
from headrace.testing.step_works import STEP_BYTES, NumberWork, StepSource
from tests.integration.engine.zoo import same, zoo

MEGABYTE = 1 << 20

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import the test framework


class Work:
    """A work put together from a function of (step, allocate)."""

    def __init__(self, run):
        self.run_step = run

    def size_bytes(self, step):
        return STEP_BYTES

    def fetch(self, step, allocate):
        return None

    def run(self, step, fetched, allocate):
        return self.run_step(step, allocate)


class WrittenWork(Work):
    """Does what stands in a file at that moment, so that many tests can share the processes of one engine."""

    def __init__(self, path):
        super().__init__(self.read)
        self.path = path

    def read(self, step, allocate):
        return cloudpickle.loads(self.path.read_bytes())(step, allocate)


def make(work, **options):
    work = work if hasattr(work, "size_bytes") else Work(work)
    defaults = {"num_workers": 2, "budget": ByteBudget(64 * STEP_BYTES), "recorder": Stats(), "preload": ()}
    return ProcessEngine(work, **(defaults | options))


@dataclasses.dataclass
class Shared:
    """An engine whose processes are there already."""

    engine: ProcessEngine
    path: Path
    recorder: Stats

    def stream(self, run, num=1):
        self.path.write_bytes(cloudpickle.dumps(run))
        return self.engine.run(StepSource(num))

    def batches(self, run, num=1):
        return [delivered.batch for delivered in self.stream(run, num)]


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    path, recorder = tmp_path_factory.mktemp("work") / "run", Stats()
    engine = make(WrittenWork(path), recorder=recorder)
    shared = Shared(engine, path, recorder)
    shared.batches(lambda *_: None)
    yield shared
    engine.close()


def processes():
    return {child.pid for child in psutil.Process().children(recursive=True)}


# --- what travels


def test_values_of_all_kinds_arrive_as_they_were(shared):
    (came,) = shared.batches(lambda *_: zoo())
    same(zoo(), came)
    assert came["tensor, channels last"].is_contiguous(memory_format=torch.channels_last)


def test_arrays_lie_in_memory_that_both_see(shared):
    def run(step, allocate):
        batch = allocate((256, 1024), np.float32)
        batch.fill(step.index)
        return {"array": batch, "rows": [batch[3], batch[7:9]], "tensor": torch.from_numpy(batch)}

    stream = shared.stream(run, 8)
    for number, delivered in enumerate(stream):
        batch = delivered.batch
        batch["array"][3] = -1
        assert (batch["rows"][0] == -1).all()
        assert (batch["tensor"][3] == -1).all()
        assert (batch["rows"][1] == number).all()
        assert "headrace-worker" in mapping_of(batch["array"].__array_interface__["data"][0])


def mapping_of(address):
    """The line of /proc/self/maps that an address lies in."""
    for line in Path("/proc/self/maps").read_text().splitlines() if Path("/proc/self/maps").exists() else ():
        start, end = (int(number, 16) for number in line.split()[0].split("-"))
        if start <= address < end:
            return line
    return "headrace-worker: no such list here"


def test_memory_comes_back_and_is_used_again(shared):
    def run(step, allocate):
        batch = allocate((MEGABYTE,), np.uint8)
        batch.fill(step.index)
        return batch

    shared.recorder.begin_epoch()
    for delivered in shared.stream(run, 200):
        assert (delivered.batch == delivered.step.index).all()
    assert shared.recorder.snapshot().counts["fresh_slots"] < 150


def test_memory_of_a_batch_that_is_looked_at_is_never_used_again(shared):
    def run(step, allocate):
        batch = allocate((MEGABYTE,), np.uint8)
        batch.fill(step.index)
        return torch.from_numpy(batch)

    batches = (delivered.batch for delivered in shared.stream(run, 100))
    kept = [batch[5:6].detach() if number % 2 else batch.untyped_storage() for number, batch in enumerate(batches)]
    gc.collect()
    assert [int(view[0]) for view in kept] == list(range(100))


def test_what_a_worker_keeps_of_a_batch_is_never_used_again(shared):
    def run(step, allocate):
        import builtins

        batch = allocate((MEGABYTE,), np.uint8)
        batch.fill(step.index)
        hoard = builtins.__dict__.setdefault("hoard", [])
        hoard.append((step.index, batch))
        broken = [number for number, kept in hoard if not (kept == number).all()]
        if step.index == 59:
            del builtins.hoard
        return broken

    assert not any(shared.batches(run, 60))


def test_batches_outlive_their_engine():
    engine = make(NumberWork())
    kept = [delivered.batch for delivered in engine.run(StepSource(5))]
    engine.close()
    del engine
    gc.collect()
    assert [int(batch[0, 0]) for batch in kept] == list(range(5))


def test_an_engine_that_is_forgotten_in_a_cycle_ends_in_order():
    before = workers_alive()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        for begun in (False, True):
            engine = make(NumberWork(), idle_s=60.0)
            stream = engine.run(StepSource(5))
            kept = [next(stream)] if begun else list(stream)
            cycle = [engine, stream, kept]
            cycle.append(cycle)
            del engine, stream, kept, cycle
            gc.collect()
        expect_idle(before)
        gc.collect()
    assert not [str(one.message) for one in told if "unclosed" in str(one.message) or "running" in str(one.message)]


def test_a_child_of_the_trainer_keeps_what_it_saw_at_the_fork(shared):
    def run(step, allocate):
        batch = allocate((MEGABYTE,), np.uint8)
        batch.fill(step.index)
        return batch

    stream = shared.stream(run, 60)
    seen = next(stream).batch
    ours, theirs = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        os.close(theirs)
        os.read(ours, 1)  # the parent has let go of its batch, and received others
        os._exit(0 if (seen == 0).all() else 1)
    os.close(ours)
    del seen
    for _ in stream:
        pass
    os.close(theirs)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_huge_results(shared):
    def run(step, allocate):
        return np.full(150 * MEGABYTE, step.index, np.uint8), b"x" * (20 * MEGABYTE)

    for number, (array, text) in enumerate(shared.batches(run, 2)):
        assert array[0] == array[-1] == number
        assert array.nbytes == 150 * MEGABYTE
        assert len(text) == 20 * MEGABYTE


def test_functions_and_classes_without_a_module_travel_both_ways(shared):
    class Local:
        def __init__(self, number):
            self.number = number

    local = make(lambda step, _: (Local(step.index), lambda: step.index), num_workers=1)
    try:
        ((made, function),) = [delivered.batch for delivered in local.run(StepSource(1))]
    finally:
        local.close()
    assert type(made) is Local
    assert made.number == function() == 0


def test_what_cannot_be_pickled_is_an_error_at_its_place(shared):
    def run(step, allocate):
        return threading.Lock() if step.index == 2 else step.index

    stream = shared.stream(run, 5)
    assert [next(stream).batch for _ in range(2)] == [0, 1]
    with pytest.raises(WorkerError, match=r"cannot be sent .* step=2.* got TypeError: .*lock") as caught:
        next(stream)
    assert isinstance(caught.value.__cause__, TypeError)


def test_what_cannot_be_rebuilt_here_is_an_error_at_its_place(shared):
    class Refuses:
        def __reduce__(self):
            return rebuild, (os.getpid(),)

    here = os.getpid()

    def rebuild(pid):
        if os.getpid() == here:
            raise RuntimeError("not here")
        return pid

    stream = shared.stream(lambda *_: Refuses())
    with pytest.raises(RuntimeError, match="not here"):
        next(stream)


def test_a_work_that_cannot_be_pickled_is_refused_with_the_reason():
    rows = (row for row in "ab")
    before = workers_alive()
    engine = make(lambda *_: rows)
    with pytest.raises(OptionError, match=r"cannot be sent to worker .*\[at=.*got TypeError: .*generator") as caught:
        engine.run(StepSource(1))
    assert "worker_init" in str(caught.value)
    assert workers_alive() == before
    engine.close()


def test_arrays_of_the_work_are_shared_and_yet_private():
    data, told = np.zeros(4 * MEGABYTE, np.uint8), torch.zeros(MEGABYTE)

    def run(step, allocate):
        mine = data[:100].sum(), mapping_of(data.__array_interface__["data"][0]), mapping_of(told.data_ptr())
        data[:100] = 1
        return int(mine[0]), mine[1], mine[2]

    engine = make(run, num_workers=3)
    came = [delivered.batch for delivered in engine.run(StepSource(30))]
    engine.close()
    assert {place for _, *places in came for place in places if "headrace-work" not in place} == set()
    assert {total for total, *_ in came} == {0, 100}
    assert data.sum() == 0


# --- errors


class NeedsTwo(Exception):  # noqa: N818 - as users name theirs
    """Pickles as if one argument were enough."""

    def __init__(self, first, second):
        super().__init__(first)
        self.second = second


class HoldsALock(ValueError):  # noqa: N818 - the same
    def __init__(self, text):
        super().__init__(text)
        self.lock = threading.Lock()


def raise_from_depth(error):
    raise error


@pytest.mark.parametrize(
    ("made", "kind", "text"),
    [
        (lambda: KeyError("k"), KeyError, "'k'"),
        (lambda: FileNotFoundError(2, "No such file", "a.jpg"), FileNotFoundError, "a.jpg"),
        (lambda: UnicodeDecodeError("utf-8", b"x", 0, 1, "reason"), UnicodeDecodeError, "reason"),
        (lambda: NeedsTwo("one", "two"), NeedsTwo, "one"),
        (lambda: HoldsALock("locked"), HoldsALock, "locked"),
        (lambda: RuntimeError(threading.Lock()), RuntimeError, "lock"),
        (lambda: DecodeError("no image", key="k"), DecodeError, "no image"),
        (lambda: ExceptionGroup("several", [ValueError("a"), KeyError("b")]), ExceptionGroup, "several"),
    ],
)
def test_errors_arrive_with_type_message_and_traceback(shared, made, kind, text):
    def run(step, allocate):
        raise_from_depth(made())

    stream = shared.stream(run)
    with pytest.raises(kind) as caught:
        next(stream)
    assert type(caught.value) is kind
    assert text in str(caught.value)
    told = "".join(traceback.format_exception(caught.value))
    assert "raise_from_depth" in told
    assert "raised in worker " in told
    assert "(process " in told


def test_a_class_of_errors_that_only_the_worker_has(shared):
    def run(step, allocate):
        class Own(Exception):  # noqa: N818
            pass

        raise Own("mine")

    with pytest.raises(Exception, match="mine") as caught:
        shared.batches(run)
    assert type(caught.value).__name__ == "Own"


def test_causes_and_notes_travel(shared):
    def run(step, allocate):
        try:
            try:
                {}["deep"]
            except KeyError as error:
                raise OSError("middle") from error
        except OSError as error:
            error.add_note("of the middle")
            last = DecodeError("last", key="k")
            last.add_note("of the last")
            raise last  # noqa: B904 - its context is what is looked at

    with pytest.raises(DecodeError) as caught:
        shared.batches(run)
    error = caught.value
    assert error.__notes__[0] == "of the last"
    assert isinstance(error.__context__, OSError)
    assert error.__context__.__notes__ == ["of the middle"]
    assert isinstance(error.__context__.__cause__, KeyError)


def test_memory_of_a_failed_step_comes_back(shared):
    def run(step, allocate):
        batch = allocate((MEGABYTE,), np.uint8)
        if step.index == 3:
            raise ValueError(step.index)
        return batch

    shared.recorder.begin_epoch()
    for _ in range(20):
        with pytest.raises(ValueError, match="3"):
            shared.batches(run, 6)
    assert shared.recorder.snapshot().counts.get("fresh_slots", 0) < 20


# --- what else workers do


def test_what_is_measured_in_workers_is_told(shared):
    shared.recorder.begin_epoch()
    recorder = shared.recorder

    def run(step, allocate):
        recorder.add("own", 0.5, items=3)
        recorder.count("seen")
        time.sleep(0.01)
        return allocate((MEGABYTE,), np.uint8)

    shared.batches(run, 10)
    told = shared.recorder.snapshot()
    assert told.stages["own"].busy.total_s == pytest.approx(5.0)
    assert told.counts["seen"] == 10
    assert told.stages["run"].busy.total_s >= 0.1
    assert told.stages["run"].size_bytes == 10 * MEGABYTE
    assert told.stages["fetch"].items == 40
    assert told.stages["run"].waiting.num == 10


def test_workers_print(capfd):
    def run(step, allocate):
        # in one piece, so that two workers cannot write into each other's lines
        print(f"hello from {step.index}\n", end="", flush=True)  # noqa: T201 - what is tested
        print("and on stderr", file=sys.stderr, flush=True)  # noqa: T201 - the same

    engine = make(run)
    list(engine.run(StepSource(2)))
    engine.close()
    told = capfd.readouterr()
    assert sorted(told.out.splitlines()) == ["hello from 0", "hello from 1"]
    assert told.err.count("and on stderr") == 2


def test_a_worker_may_fork_and_start_programs(shared):
    def run(step, allocate):
        ours, theirs = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
        if child == 0:
            os.write(theirs, b"child")
            os._exit(0)
        os.waitpid(child, 0)
        return os.read(ours, 5), subprocess.run(["echo", "hi"], capture_output=True, check=True).stdout

    assert shared.batches(run, 4) == [(b"child", b"hi\n")] * 4


def test_worker_init_numbers_context_and_threads(tmp_path):
    @contextlib.contextmanager
    def context(step):
        os.environ["STEP"] = str(step.index)
        yield
        (tmp_path / f"left {step.index}").touch()

    def init(number):
        (tmp_path / f"worker {number}").touch()
        os.environ["NUMBER"] = str(number)

    def run(step, allocate):
        return os.environ["STEP"], os.environ["NUMBER"], torch.get_num_threads(), os.getpid(), sys.argv

    engine = make(run, num_workers=2, worker_init=init, step_context=context)
    came = [delivered.batch for delivered in engine.run(StepSource(20))]
    expect_soon((tmp_path / "worker 1").exists, "worker 1 did not start")
    engine.close()
    assert [step for step, *_ in came] == [str(number) for number in range(20)]
    assert all((tmp_path / f"left {number}").exists() for number in range(20))
    assert {int(number) for _, number, *_ in came} <= {0, 1}
    assert {threads for _, _, threads, *_ in came} == {1}
    assert os.getpid() not in {pid for *_, pid, _ in came}
    assert {tuple(argv) for *_, argv in came} == {tuple(sys.argv)}


@pytest.fixture
def one_cpu():
    """This process, and those that it starts, may run on one CPU only."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("the system binds no process to CPUs")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


def test_more_workers_than_cpus_start_in_turn(tmp_path, one_cpu):
    engine = make(NumberWork(), num_workers=4, worker_init=lambda number: (tmp_path / str(number)).touch())
    next(engine.run(StepSource(1)))
    expect_soon(lambda: len(list(tmp_path.iterdir())) == 4, "not all workers have started")
    engine.close()


def test_an_error_in_worker_init_is_raised_by_the_first_batch():
    def init(number):
        raise RuntimeError("no database")

    before = workers_alive()
    engine = make(NumberWork(), worker_init=init)
    with pytest.raises(RuntimeError, match="no database") as caught:
        next(engine.run(StepSource(3)))
    assert any("'start'" in note for note in caught.value.__notes__)
    expect_idle(before)
    engine.close()


def test_processes_stay_for_the_next_iteration(shared):
    first = set(shared.batches(lambda *_: os.getpid(), 50))
    second = set(shared.batches(lambda *_: os.getpid(), 50))
    assert first | second <= processes()


def test_processes_end_with_each_iteration_where_they_are_to():
    before = workers_alive()
    engine = make(NumberWork(), idle_s=0)
    for _ in range(2):
        assert len(list(engine.run(StepSource(3)))) == 3
        expect_idle(before)
    engine.close()


def test_idle_processes_leave_and_come_again():
    before = workers_alive()
    engine = make(lambda *_: os.getpid(), idle_s=1, num_workers=1)
    (first,) = [delivered.batch for delivered in engine.run(StepSource(1))]
    expect_soon(lambda: not psutil.pid_exists(first) or psutil.Process(first).status() == "zombie", "it stays")
    (second,) = [delivered.batch for delivered in engine.run(StepSource(1))]
    assert first != second
    engine.close()
    expect_idle(before)


@pytest.mark.parametrize(
    "options",
    [{"num_workers": 0}, {"max_in_flight": 0}, {"threads_per_worker": 0}, {"idle_s": -1.0}],
)
def test_options_are_checked(options):
    with pytest.raises(OptionError):
        make(NumberWork(), **options)


def test_a_script_without_guard_and_main_is_never_imported_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        textwrap.dedent(
            """
            import collections, os, sys
            print("main runs", flush=True)
            import numpy as np
            from headrace.contracts import Step
            from headrace.engine import ByteBudget, ProcessEngine, Stats

            FACTOR = 3
            Pair = collections.namedtuple("Pair", "number data")

            class Work:
                def size_bytes(self, step):
                    return 1 << 20

                def fetch(self, step, allocate):
                    return np.arange(10) * FACTOR

                def run(self, step, fetched, allocate):
                    return Pair(step.index, fetched)

            def steps(num):
                for n in range(num):
                    yield Step(index=n, epoch=0, ids=np.arange(2), valid=np.ones(2, bool))

            engine = ProcessEngine(Work(), num_workers=2, budget=ByteBudget(1 << 26), recorder=Stats())
            made = [delivered.batch for delivered in engine.run(steps(6))]
            assert all(type(one) is Pair for one in made)
            assert [one.number for one in made] == list(range(6))
            print(made[-1].data[3])
            """
        )
    )
    ended = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "main runs\n9\n", "")


class Bound(Work):
    """Tells who made each step, and after how many others; `release` begins to count anew."""

    def __init__(self):
        super().__init__(self.tell)
        self.number = None
        self.num_made = 0

    def take_number(self, number):
        self.number = number

    def tell(self, step, allocate):
        self.num_made += 1
        return self.number, self.num_made

    def release(self):
        self.num_made = 0


def steps_of(workers):
    for step, worker in zip(StepSource(len(workers)), workers, strict=True):
        yield dataclasses.replace(step, worker=worker, task={"any": "thing"})


def test_bound_workers_make_their_own_steps_in_order_and_hear_of_the_end():
    work = Bound()
    engine = make(work, num_workers=3, bound=True, worker_init=work.take_number, release=work.release)
    with contextlib.closing(engine):
        wanted = [0, 1, 2, 2, 2, 0, 1]
        made = [delivered.batch for delivered in engine.run(steps_of(wanted))]
        assert made == [(0, 1), (1, 1), (2, 1), (2, 2), (2, 3), (0, 2), (1, 2)]
        again = [delivered.batch for delivered in engine.run(steps_of([2, 1]))]
        assert again == [(2, 1), (1, 1)]
