"""A recorder for work that nobody measures."""

from __future__ import annotations


class Unrecorded:
    """Takes measurements and keeps none."""

    def add(self, stage: str, busy_s: float, *, items: int = 1, size_bytes: int = 0) -> None:
        """Nothing."""

    def wait(self, stage: str, waited_s: float) -> None:
        """Nothing."""

    def count(self, event: str, num: int = 1) -> None:
        """Nothing."""

    def fill(self, queue: str, num: int, capacity: int) -> None:
        """Nothing."""
