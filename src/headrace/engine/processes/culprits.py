"""Which part of a work cannot be pickled: pickle itself names its type, not its place."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace.engine.processes.work_pickler import pickled_work
from headrace.errors import OptionError

MAX_PARTS = 1000
"""Parts of a list or dict that are looked at: of a million samples, the first ones tell."""
MAX_DEPTH = 8


def cannot_travel(work: Any, error: Exception) -> OptionError:
    """The error of a work, or a dataset, that cannot be pickled.

    Args:
        work: What could not be pickled.
        error: What was raised then.
    """
    return OptionError(
        "the dataset, or a function given with it, cannot be sent to worker processes",
        got=f"{type(error).__qualname__}: {error}",
        accepted="what pickle or cloudpickle can handle: no sockets, databases, generators, files open for writing",
        at=culprit_of(work).removeprefix(".work.") or None,
        remedy='Open such things on first use or in worker_init_fn, or use engine="threads".',
    )


def culprit_of(work: Any) -> str:
    """Where the first thing lies that cannot be pickled, as `.dataset.lock` or `.dataset.files[3]`; empty if unknown.

    Args:
        work: What could not be pickled.
    """
    path, value = "", work
    for _ in range(MAX_DEPTH):
        found = next(((step, part) for step, part in parts_of(value) if not is_picklable(part)), None)
        if found is None:
            break
        path, value = path + found[0], found[1]
    return path


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """What a value consists of, each part with the way to it."""
    if isinstance(value, dict):
        steps = [(f"[{key!r}]", part) for key, part in list(value.items())[:MAX_PARTS]]
    elif isinstance(value, (list, tuple)):
        steps = [(f"[{index}]", part) for index, part in enumerate(value[:MAX_PARTS])]
    else:
        names: list[str] = list(getattr(value, "__dict__", {}) or getattr(value, "__slots__", ()))
        steps = [(f".{name}", getattr(value, name, None)) for name in names[:MAX_PARTS]]
    yield from steps


def is_picklable(value: Any) -> bool:
    """Whether a value can be sent to a worker process."""
    try:
        pickled_work(value, lambda _: None)
    except Exception:  # noqa: BLE001 - whatever it says: no
        return False
    return True
