"""Code that wants to end the program, or to interrupt it, where only a worker could end: as an error of its step."""

from __future__ import annotations

import traceback

from headrace.contracts import Step
from headrace.engine.step_errors import shown_samples
from headrace.errors import WorkerError

REMEDY = (
    "Raise an exception there, or return; to end training early, leave the training loop. Functions of a command line, "
    "such as argparse's, call sys.exit where an argument is not accepted."
)


def as_error(error: BaseException, step: Step | None = None, *, of: str = "the work of a step") -> BaseException:
    """What the consumer gets of an exception that a worker has caught.

    `SystemExit`, `KeyboardInterrupt` and their like come from code of the user there, since Ctrl-C reaches no worker.
    Raised again in the trainer, they would end it without a word, as if that had been asked for. So they become the
    cause of a `WorkerError`, to which their notes move: those name the sample. Others are returned as they are.

    Args:
        error: What was raised, with its traceback.
        step: What was being done, where that is known.
        of: Whose code it was, in words.
    """
    if isinstance(error, Exception):
        return error
    samples = None if step is None else shown_samples(step)
    wrapped = WorkerError(f"{of} {deed(error)}{place(error)}", remedy=REMEDY, samples=samples)
    wrapped.__cause__ = error
    for note in error.__dict__.pop("__notes__", ()):
        wrapped.add_note(note)
    return wrapped


def deed(error: BaseException) -> str:
    """What the code has done, in words."""
    if isinstance(error, SystemExit):
        return f"called sys.exit({'' if error.code is None else repr(error.code)}), or raised SystemExit"
    return f"raised {type(error).__qualname__}"


def place(error: BaseException) -> str:
    """The function that did it, with file and line; empty where nobody knows."""
    frames = traceback.extract_tb(error.__traceback__)
    return f", in {frames[-1].name} ({frames[-1].filename}, line {frames[-1].lineno})" if frames else ""
