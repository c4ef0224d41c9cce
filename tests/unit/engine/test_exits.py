import sys

import numpy as np
import pytest

from headrace.contracts import Step
from headrace.engine.exits import as_error
from headrace.errors import WorkerError

STEP = Step(index=7, epoch=2, ids=np.arange(3), valid=np.ones(3, np.bool_))


def caught(call, *arguments):
    """What is caught of a call that raises, with its traceback."""
    try:
        call(*arguments)
    except BaseException as error:  # noqa: BLE001 - these are what it is about
        return error
    raise AssertionError("nothing was raised")


def interrupt():
    raise KeyboardInterrupt


def stop_a_generator():
    raise GeneratorExit


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (caught(sys.exit, 3), "called sys.exit(3), or raised SystemExit, in caught"),
        (caught(sys.exit, "no data"), "called sys.exit('no data'), or raised SystemExit, in caught"),
        (caught(sys.exit), "called sys.exit(), or raised SystemExit, in caught"),
        (caught(interrupt), "raised KeyboardInterrupt, in interrupt"),
        (caught(stop_a_generator), "raised GeneratorExit, in stop_a_generator"),
    ],
)
def test_what_would_end_the_program_becomes_an_error_that_names_the_place(error, words):
    error.add_note("sample 5")
    told = as_error(error, STEP, of="a transform")
    assert type(told) is WorkerError
    assert f"a transform {words} ({__file__}, line " in str(told)
    assert told.where == {"samples": "[0, 1, 2]"}
    assert "Raise an exception" in str(told)
    assert told.__cause__ is error
    assert told.__notes__ == ["sample 5"]
    assert not hasattr(error, "__notes__")


@pytest.mark.parametrize("error", [ValueError("no"), StopIteration(), WorkerError("no")])
def test_exceptions_stay_as_they_are(error):
    assert as_error(error, STEP) is error


def test_an_exit_that_was_never_raised_has_no_place():
    assert str(as_error(SystemExit(1))).startswith("the work of a step called sys.exit(1), or raised SystemExit. Raise")
