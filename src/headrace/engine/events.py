"""What is measured in a worker process, on its way to the recorder of the loader."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from headrace.contracts import Recorder

Event: TypeAlias = tuple[str, tuple[Any, ...], dict[str, Any]]
"""Name of the recorder's method, and its arguments."""


class Events:
    """The `Recorder` of a worker process: keeps what a step measures for the message that brings its batch."""

    def __init__(self) -> None:
        self.kept: list[Event] = []
        self.in_use = False
        """Whether this process is a worker."""

    def add(self, stage: str, busy_s: float, *, items: int = 1, size_bytes: int = 0) -> None:
        """Records one piece of work of a stage that took `busy_s` seconds."""
        self.kept.append(("add", (stage, busy_s), {"items": items, "size_bytes": size_bytes}))

    def wait(self, stage: str, waited_s: float) -> None:
        """Records that a stage waited for `waited_s` seconds."""
        self.kept.append(("wait", (stage, waited_s), {}))

    def count(self, event: str, num: int = 1) -> None:
        """Counts an event."""
        self.kept.append(("count", (event, num), {}))

    def fill(self, queue: str, num: int, capacity: int) -> None:
        """Records how full a queue is at this moment."""
        self.kept.append(("fill", (queue, num, capacity), {}))

    def taken(self) -> list[Event]:
        """What was kept since the last call."""
        kept, self.kept = self.kept, []
        return kept


EVENTS = Events()
"""The recorder of this process, where it is a worker. A `Stats` that is sent to a worker is this one there."""


def replay(events: Sequence[Event], recorder: Recorder) -> None:
    """Tells a recorder what was measured elsewhere."""
    for method, args, kwargs in events:
        getattr(recorder, method)(*args, **kwargs)
