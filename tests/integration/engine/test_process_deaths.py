"""The ends of worker processes: killed, crashed, left alone by their trainer, not needed any more."""

import contextlib
import ctypes
import os
import random
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import cloudpickle
import psutil
import pytest

from headrace.engine import ByteBudget, ProcessEngine, Stats
from headrace.errors import LoaderClosedError, WorkerDiedError
from headrace.testing.engine_contract import expect_idle, expect_soon, numbers, workers_alive
from headrace.testing.step_works import PATIENCE_S, STEP_BYTES, NumberWork, StepSource

PROMPT_S = 5.0
"""How soon a death must be told, on a machine that is busy with other things."""


cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers need not import the test framework


class Work:
    """A work put together from a function of a step."""

    def __init__(self, run):
        self.run_step = run

    def size_bytes(self, step):
        return STEP_BYTES

    def fetch(self, step, allocate):
        return None

    def run(self, step, fetched, allocate):
        return self.run_step(step)


def make(work, **options):
    work = work if hasattr(work, "size_bytes") else Work(work)
    defaults = {"num_workers": 2, "budget": ByteBudget(64 * STEP_BYTES), "recorder": Stats(), "preload": ()}
    return ProcessEngine(work, **(defaults | options))


def workers(engine):
    """The worker processes; the tests' process may have other children."""
    return [psutil.Process(member.process.pid) for member in engine.crew.members]


def descriptors():
    return psutil.Process().num_fds()


@pytest.fixture(autouse=True)
def no_descriptor_left():
    before = descriptors()
    yield
    expect_soon(lambda: descriptors() <= before, f"{descriptors() - before} descriptors left behind")


# --- deaths


def test_kills_at_any_time_are_told_at_once_and_leave_nothing():
    before, dice = workers_alive(), random.Random(0)
    engine = make(NumberWork(naps_s=(0.001, 0.0, 0.003)), num_workers=3)
    for _ in range(12):
        stream = engine.run(StepSource())
        next(stream)
        for _ in range(dice.randrange(30)):
            next(stream)
        time.sleep(dice.random() * 0.02)
        victim = dice.choice(workers(engine))
        victim.kill()
        killed_s = time.monotonic()
        with pytest.raises(WorkerDiedError, match=r"was killed by SIGKILL") as caught:
            for _ in stream:
                pass
        assert time.monotonic() - killed_s < PROMPT_S
        assert caught.value.where["pid"] == victim.pid
        assert caught.value.where["worker"] in range(3)
        with pytest.raises(LoaderClosedError):
            next(stream)
        expect_idle(before)
    assert numbers(engine.run(StepSource(9))) == list(range(9))
    engine.close()
    expect_idle(before)


def test_a_death_names_step_samples_and_memory():
    hoarded_bytes = 300 << 20

    def run(step):
        if step.index == 4:
            kept = bytearray(hoarded_bytes)
            kept[:: 1 << 12] = b"x" * (hoarded_bytes >> 12)
            time.sleep(1.5)
            os.kill(os.getpid(), signal.SIGKILL)
        return step.index

    engine = make(run)
    stream = engine.run(StepSource())
    assert [next(stream).batch for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(WorkerDiedError) as caught:
        next(stream)
    engine.close()
    told = str(caught.value)
    assert caught.value.where["step"] == 4
    assert caught.value.where["samples"] == "[16, 17, 18, 19]"
    assert int(re.search(r"(\d+) MiB in memory when last looked at", told)[1]) > 300
    assert "dmesg" in told


def crash():
    ctypes.string_at(0)


@pytest.mark.parametrize(
    ("end", "how"),
    [
        (crash, "was killed by SIGSEGV"),
        (os.abort, "was killed by SIGABRT"),
        (lambda: os._exit(7), "has ended with exit code 7"),
        (lambda: os.kill(os.getpid(), signal.SIGTERM), "was killed by SIGTERM"),
    ],
    ids=["segfault", "abort", "exit", "terminated"],
)
def test_how_a_worker_has_ended(end, how):
    engine = make(lambda step: end() if step.index == 1 else step.index, num_workers=1)
    stream = engine.run(StepSource())
    assert next(stream).batch == 0
    with pytest.raises(WorkerDiedError, match=how) as caught:
        next(stream)
    assert caught.value.where["step"] == 1
    engine.close()


def test_a_death_is_told_while_a_child_of_the_worker_holds_its_socket(tmp_path):
    def run(step):
        if step.index == 2:
            libc = ctypes.CDLL(None)
            if libc.fork() == 0:  # from native code: Python's hooks do not run
                (tmp_path / "child").write_text(str(os.getpid()))
                libc.sleep(60)
                os._exit(0)
            while not (tmp_path / "child").exists():
                time.sleep(0.001)
            os.kill(os.getpid(), signal.SIGKILL)
        return step.index

    engine = make(run, num_workers=1)
    began_s = time.monotonic()
    with pytest.raises(WorkerDiedError):
        list(engine.run(StepSource()))
    assert time.monotonic() - began_s < PROMPT_S + 2
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    engine.close()


def test_a_worker_that_dies_at_its_start_is_told():
    class Trap:
        def __reduce__(self):
            return os._exit, (9,)

    trap = Trap()
    engine = make(lambda _: trap)
    with pytest.raises(WorkerDiedError, match="exit code 9 before its first step"):
        next(engine.run(StepSource(3)))
    engine.close()


def test_a_worker_that_died_between_iterations_is_replaced():
    engine = make(NumberWork())
    assert numbers(engine.run(StepSource(3))) == [0, 1, 2]
    workers(engine)[0].kill()
    time.sleep(0.05)
    assert numbers(engine.run(StepSource(3))) == [0, 1, 2]
    engine.close()


def test_without_what_only_linux_has(monkeypatch):
    monkeypatch.delattr(os, "memfd_create", raising=False)
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    engine = make(NumberWork())
    assert numbers(engine.run(StepSource(30))) == list(range(30))
    stream = engine.run(StepSource())
    next(stream)
    workers(engine)[0].kill()
    with pytest.raises(WorkerDiedError, match="SIGKILL"):
        list(stream)
    engine.close()


def test_other_workers_finish_what_comes_before_the_death(tmp_path):
    def run(step):
        if step.index == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        if step.index == 0:
            time.sleep(0.3)
        return step.index

    engine = make(run)
    stream = engine.run(StepSource())
    assert next(stream).batch == 0
    with pytest.raises(WorkerDiedError) as caught:
        next(stream)
    assert caught.value.where["step"] == 1
    engine.close()


# --- ends


def test_nothing_is_left_of_a_worker_that_is_amid_a_long_step():
    before = workers_alive()
    engine = make(lambda _: time.sleep(600))
    stream = engine.run(StepSource())
    time.sleep(0.5)
    began_s = time.monotonic()
    engine.close()
    assert time.monotonic() - began_s < PROMPT_S
    expect_idle(before)
    with pytest.raises(LoaderClosedError):
        next(stream)


def test_closing_from_another_thread_ends_a_wait():
    engine = make(lambda _: time.sleep(600), num_workers=1)
    stream = engine.run(StepSource())
    closer = threading.Timer(0.3, engine.close)
    closer.start()
    with pytest.raises(LoaderClosedError):
        next(stream)
    closer.join()


def test_a_new_iteration_does_not_wait_for_steps_of_the_old_one(tmp_path):
    def run(step):
        if step.index == 0 and not (tmp_path / "stuck").exists():
            (tmp_path / "stuck").touch()
            time.sleep(600)
        return step.index

    engine = make(run, num_workers=2)
    first = engine.run(StepSource())
    expect_soon((tmp_path / "stuck").exists, "the first step did not begin")
    assert [delivered.batch for delivered in engine.run(StepSource(20))] == list(range(20))
    with pytest.raises(LoaderClosedError):
        next(first)
    engine.close()


def script(tmp_path, text):
    path = tmp_path / "script.py"
    path.write_text(
        textwrap.dedent(
            """
            import os, signal, sys, time
            import numpy as np
            from headrace.contracts import Step
            from headrace.engine import ByteBudget, ProcessEngine, Stats

            class Work:
                def size_bytes(self, step):
                    return 1 << 20

                def fetch(self, step, allocate):
                    return None

                def run(self, step, fetched, allocate):
                    time.sleep(NAP_S)
                    return step.index

            def steps():
                for n in range(1 << 40):
                    yield Step(index=n, epoch=0, ids=np.arange(2), valid=np.ones(2, bool))

            engine = ProcessEngine(Work(), num_workers=2, budget=ByteBudget(1 << 26), recorder=Stats())
            """
        )
        + textwrap.dedent(text)
    )
    return subprocess.Popen([sys.executable, path], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def read_pids(process):
    return [int(pid) for pid in process.stdout.readline().split()]


def gone(pids):
    return all(not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE for pid in pids)


TELL_PIDS = """
NAP_S = 0.01
stream = engine.run(steps())
next(stream)
print(*(member.process.pid for member in engine.crew.members), flush=True)
"""


@pytest.mark.parametrize("nap_s", [0.01, 600])
def test_workers_do_not_outlive_a_trainer_that_is_killed(tmp_path, nap_s):
    trainer = script(tmp_path, TELL_PIDS + f"NAP_S = {nap_s}\nfor _ in stream: pass\n")
    with trainer:
        pids = read_pids(trainer)
        assert len(pids) == 2
        trainer.kill()
    expect_soon(lambda: gone(pids), "workers outlive their trainer")


def test_ctrl_c_is_clean(tmp_path):
    trainer = script(tmp_path, TELL_PIDS + "for _ in stream: pass\n")
    with trainer:
        pids = read_pids(trainer)
        for pid in [*pids, trainer.pid]:  # a terminal sends it to all
            os.kill(pid, signal.SIGINT)
        _, told = trainer.communicate(timeout=PATIENCE_S)
    assert trainer.returncode == -signal.SIGINT
    assert told.count("Traceback") == 1
    assert told.rstrip().endswith("KeyboardInterrupt")
    expect_soon(lambda: gone(pids), "workers outlive their trainer")


def test_the_end_of_the_program_is_clean_with_everything_open(tmp_path):
    trainer = script(tmp_path, TELL_PIDS + "kept = [next(stream) for _ in range(5)]\n")
    with trainer:
        pids = read_pids(trainer)
        _, told = trainer.communicate(timeout=PATIENCE_S)
    assert (trainer.returncode, told) == (0, "")
    assert gone(pids)


def test_a_thread_that_started_the_workers_may_end(tmp_path):
    engine = make(NumberWork())
    streams = []
    starter = threading.Thread(target=lambda: streams.append(engine.run(StepSource(20))))
    starter.start()
    starter.join()
    assert numbers(streams.pop()) == list(range(20))
    engine.close()


def test_a_forked_child_of_the_trainer_keeps_no_worker_alive(tmp_path):
    text = """
        import warnings
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
        if child == 0:
            os.close(1)
            os.close(2)
            time.sleep(60)
            os._exit(0)
        print(child, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    trainer = script(tmp_path, TELL_PIDS + textwrap.dedent(text))
    with trainer:
        pids = read_pids(trainer)
        (child,) = read_pids(trainer)
    try:
        expect_soon(lambda: gone(pids), "workers outlive their trainer")
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)


FEW_FILES = """
NAP_S = 0
import resource
from headrace.errors import WorkerError

resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

class Arrays(Work):
    def run(self, step, fetched, allocate):
        return allocate((100_000,), np.uint8)

many = ProcessEngine(Arrays(), num_workers=8, budget=ByteBudget(1 << 26), recorder=Stats())
stream = many.run(steps())
kept = [next(stream) for _ in range(500)]
many.close()
resource.setrlimit(resource.RLIMIT_NOFILE, (30, 256))
try:
    many = ProcessEngine(Arrays(), num_workers=8, budget=ByteBudget(1 << 26), recorder=Stats())
    many.run(steps())
except WorkerError as error:
    print("refused:", error)
del many
resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
print(next(engine.run(steps())).batch)
"""


def test_few_open_files_are_enough_and_too_few_are_told(tmp_path):
    trainer = script(tmp_path, FEW_FILES)
    told, errors = trainer.communicate(timeout=2 * PATIENCE_S)
    assert (trainer.returncode, errors) == (0, "")
    refused, first = told.splitlines()
    assert refused.startswith("refused: worker processes cannot be started; got [Errno 24]")
    assert "ulimit -n" in refused
    assert first == "0"


@pytest.mark.skipif(sys.platform != "linux", reason="a Linux score")
def test_workers_go_before_the_trainer_when_memory_runs_out():
    engine = make(lambda _: int(Path("/proc/self/oom_score_adj").read_text()), num_workers=1)
    of_worker = next(engine.run(StepSource(1))).batch
    engine.close()
    assert of_worker > int(Path("/proc/self/oom_score_adj").read_text())


def test_no_shared_memory_has_a_name():
    engine = make(NumberWork())
    next(engine.run(StepSource(20)))
    mapped = Path("/proc/self/maps").read_text() if Path("/proc/self/maps").exists() else "/memfd:headrace-worker-0"
    assert "/memfd:headrace-worker" in mapped
    assert "/dev/shm" not in mapped
    engine.close()
