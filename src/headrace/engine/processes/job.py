"""What worker processes are sent: the work, and what the user wants done around it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from headrace.contracts import Step, StepWork


def no_context(_: Step) -> AbstractContextManager[Any]:
    """A step without anything around it."""
    return nullcontext()


def nothing() -> None:
    """An iteration that leaves nothing behind in the workers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What each worker gets, pickled."""

    work: StepWork
    release: Callable[[], object] = nothing
    """Called at the end of an iteration, where each worker hears of that."""
    worker_init: Callable[[int], object] | None = None
    """Called once with the worker's number."""
    step_context: Callable[[Step], AbstractContextManager[Any]] = no_context
    """Entered around each step."""
