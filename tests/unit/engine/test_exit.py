"""How a process ends while a loader is being iterated: at once, quietly, with its own exit status."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[3] / "src"

BEGIN = """
import os, sys, threading, time
from headrace.engine import ByteBudget, SlotPool, Stats, ThreadEngine
from headrace.testing.step_works import NumberWork, StepSource

def make(work=NumberWork(naps_s=(0.001, 0.0))):
    budget, slots, recorder = ByteBudget(1 << 25), SlotPool(), Stats()
    return ThreadEngine(work, num_workers=2, num_io_threads=2, budget=budget, slots=slots, recorder=recorder)

engine = make()
stream = engine.run(StepSource())
next(stream)
"""


def run(script, tmp_path):
    path = tmp_path / "script.py"
    path.write_text(BEGIN + textwrap.dedent(script))
    environment = os.environ | {"PYTHONPATH": str(SOURCE), "PYTHONWARNINGS": "ignore"}
    done = subprocess.run(
        [sys.executable, "-X", "faulthandler", str(path)],
        capture_output=True, text=True, timeout=60, env=environment, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout.strip(), done.stderr.strip()


def test_end_of_the_script(tmp_path):
    assert run("print('end')", tmp_path) == (0, "end", "")


def test_exit_inside_the_loop(tmp_path):
    assert run("for delivered in stream:\n    sys.exit(3)", tmp_path) == (3, "", "")


def test_exception_inside_the_loop(tmp_path):
    code, _, errors = run("for delivered in stream:\n    raise KeyError('own')", tmp_path)
    assert code == 1
    assert errors.splitlines()[-1] == "KeyError: 'own'"
    assert errors.count("Traceback") == 1


def test_an_iterator_in_a_cycle_and_in_a_module(tmp_path):
    assert run("sys.modules['json'] = [stream, engine]; stream.own = stream", tmp_path) == (0, "", "")


def test_work_that_is_being_done_is_waited_for(tmp_path):
    script = """
        class Slow(NumberWork):
            def run(self, step, fetched, allocate):
                time.sleep(0.3)
                if step.index == 0:
                    os.write(1, b"done")
        other = make(Slow())
        late = other.run(StepSource())
        time.sleep(0.1)
    """
    assert run(script, tmp_path) == (0, "done", "")


def test_work_that_hangs_does_not_hold_up_the_end(tmp_path):
    script = """
        import headrace.engine.lifetime
        headrace.engine.lifetime.CLOSE_GRACE_S = 0.1
        class Hung(NumberWork):
            def run(self, step, fetched, allocate):
                threading.Event().wait()
        other = make(Hung())
        late = other.run(StepSource())
        time.sleep(0.1)
    """
    assert run(script, tmp_path) == (0, "", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_that_ends_by_itself(tmp_path):
    script = """
        child = os.fork()
        if child == 0:
            del stream
            print(sum(1 for delivered in engine.run(StepSource(7))))
            sys.exit(5)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), next(stream).step.index)
    """
    assert run(script, tmp_path) == (0, "7\n5 1", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_children_of_multiprocessing(tmp_path):
    script = """
        import multiprocessing
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(sum(pool.map(abs, range(10))))
        print(next(stream).step.index)
    """
    assert run(script, tmp_path) == (0, "45\n1", "")


def test_ctrl_c(tmp_path):
    script = """
        import signal
        threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
        for delivered in stream:
            time.sleep(0.01)
    """
    code, _, errors = run(script, tmp_path)
    assert code == -2
    assert errors.splitlines()[-1] == "KeyboardInterrupt"
