"""Errors as the consumer gets them: with the place where they happened, never as the plain end of a loop."""

from __future__ import annotations

from headrace.contracts import Step
from headrace.errors import HeadraceError, LoaderClosedError, StaleIteratorError, WorkerError


def at_step(step: Step | None, stage: str, error: BaseException) -> BaseException:
    """The same error, with stage and step added.

    A `StopIteration` would end the consumer's loop as if all were well; it becomes the cause of a `WorkerError`.
    """
    if isinstance(error, StopIteration):
        wrapped = WorkerError("the work of a step raised StopIteration", remedy="Raise another exception there.")
        wrapped.__cause__ = error
        error = wrapped
    place = {} if step is None else {"step": step.index, "epoch": step.epoch}
    if isinstance(error, HeadraceError):
        return error.at(stage=stage, **place)
    where = "".join(f", {name} {number}" for name, number in place.items())
    error.add_note(f"in stage {stage!r} of the loader{where}")
    return error


def closed_error(kind: type[LoaderClosedError]) -> LoaderClosedError:
    """Why an iterator gives no more batches."""
    if issubclass(kind, StaleIteratorError):
        return kind(
            "a second iteration over the same loader has ended this one",
            remedy="Finish one iteration before the next, or make two loaders.",
        )
    return kind("this iterator is closed", remedy="Iterate over the loader anew.")
