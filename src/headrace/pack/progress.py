"""Counts the samples of each stage and passes them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from headrace.pack.journal import Finished
from headrace.pack.report import OnProgress, PackProgress, Stage


class Meter:
    """Progress of one run.

    Args:
        on_progress: Who wants to know.
    """

    def __init__(self, on_progress: OnProgress | None) -> None:
        self.on_progress = on_progress

    def tell(self, stage: Stage, num_done: int, num_total: int | None, size_bytes: int = 0) -> None:
        """Passes on how far a stage is."""
        if self.on_progress is not None:
            self.on_progress(PackProgress(stage=stage, num_done=num_done, num_total=num_total, size_bytes=size_bytes))

    def listed(self, num_found: int) -> None:
        """So many samples are listed."""
        self.tell("list", num_found, None)

    def checked(self, claimed: Sequence[Finished]) -> Callable[[Finished], None]:
        """A function to call with each shard of an earlier run that has been checked."""
        total, done, size_bytes = sum(entry.num_samples for entry in claimed), 0, 0

        def on_checked(entry: Finished) -> None:
            nonlocal done, size_bytes
            done, size_bytes = done + entry.num_samples, size_bytes + entry.size_bytes
            self.tell("check", done, total, size_bytes)

        return on_checked

    def resized(self, num_total: int) -> Callable[[int, int], None]:
        """A function to call with (samples done, bytes) of the images that are shrunk."""

        def on_done(num_done: int, size_bytes: int) -> None:
            self.tell("resize", num_done, num_total, size_bytes)

        return on_done
