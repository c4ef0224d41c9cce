"""Errors as the consumer gets them: with the place where they happened, never as the plain end of a loop."""

from __future__ import annotations

from headrace.contracts import Step
from headrace.errors import BatchTimeoutError, HeadraceError, LoaderClosedError, StaleIteratorError, WorkerError

MAX_IDS = 16
"""Samples that are named of a step."""
MAX_NAME = 60
"""Characters of a key that are shown."""


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


def late_error(timeout_s: float, step: Step | None) -> BatchTimeoutError:
    """Why no batch is waited for any longer.

    Args:
        timeout_s: How long it was waited for.
        step: Whose batch has not come; None where it is not even known which samples it would have.
    """
    place = {} if step is None else {"step": step.index, "epoch": step.epoch, "samples": shown_samples(step)}
    return BatchTimeoutError(
        f"the loader timed out after {timeout_s:g} seconds: the batch that is next has not come",
        stage="order" if step is None else "run",
        remedy="Look at what takes so long (num_workers=0 does it in this thread), or raise timeout=.",
        retryable=True,
        **place,
    )


def shown_samples(step: Step) -> str:
    """The samples of a step by their ids or keys, or the first ones of many."""
    names = step.ids[:MAX_IDS].tolist() if step.keys is None else step.keys[:MAX_IDS]
    shown = ", ".join(repr(name)[:MAX_NAME] for name in names)
    return f"[{shown}{', ...' if len(step.ids) > MAX_IDS else ''}]"
