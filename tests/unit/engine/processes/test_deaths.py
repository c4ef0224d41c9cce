import numpy as np
import pytest

from headrace.contracts import Step
from headrace.engine.processes.deaths import death

STEP = Step(index=7, epoch=2, ids=np.arange(100, 120), valid=np.ones(20, np.bool_))


def told(exit_code, *, moment="between two steps", step=STEP, memory_bytes=300 << 20, peak_bytes=None):
    return death(3, 4711, exit_code, moment=moment, step=step, memory_bytes=memory_bytes, peak_bytes=peak_bytes)


def test_a_death_in_a_step_says_all_that_is_known():
    error = told(-9, peak_bytes=5 << 30)
    assert str(error).startswith("worker 3 (process 4711) was killed by SIGKILL in a step [worker=3, pid=4711, step=7")
    assert "samples=[100, 101, 102" in str(error)
    assert "115, ...]" in str(error)
    assert "got 300 MiB in memory when last looked at, 5120 MiB at most" in str(error)
    assert "fewer workers" in str(error)


def test_a_death_between_steps_names_no_step():
    error = told(-9, step=None, memory_bytes=0)
    assert "between two steps" in str(error)
    assert "memory unknown" in str(error)
    assert "step" not in error.where


def test_a_death_at_the_start_says_so():
    assert "has ended with exit code 5 before its first step" in str(told(5, moment="before its first step", step=None))


def test_a_death_in_code_that_prepares_a_worker_says_so():
    error = told(0, moment="in worker_init_fn", step=None)
    assert "has ended with exit code 0 in worker_init_fn" in str(error)
    assert "os._exit" in str(error)


@pytest.mark.parametrize(
    ("exit_code", "words"),
    [
        (-11, "was killed by SIGSEGV"),
        (-7, "was killed by SIGBUS"),
        (-40, "was killed by signal 40"),
        (3, "has ended with exit code 3"),
        (None, "has ended in a step"),
    ],
)
def test_ways_to_end(exit_code, words):
    assert words in str(told(exit_code))
