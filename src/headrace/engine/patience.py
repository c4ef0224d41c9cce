"""How long a consumer waits for a batch."""

from __future__ import annotations

import time

from headrace.engine.flight import Flight
from headrace.engine.step_errors import late_error

START_S = 60.0
"""For so long the start of worker processes, which import torch first, does not count."""


class Patience:
    """From the moment at which a batch is asked for, where the user has set a limit."""

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self.timeout_s = flight.options.timeout_s
        self.asked_s = time.monotonic() if self.timeout_s is not None else 0.0
        self.until_s = None if self.timeout_s is None else self.asked_s + self.timeout_s
        self.was_starting = False

    def check(self) -> None:
        """Is to be called before each wait.

        Raises:
            BatchTimeoutError: The time is over.
        """
        if self.timeout_s is None or self.until_s is None:
            return
        now_s = time.monotonic()
        is_starting = self.flight.is_starting and now_s < self.asked_s + START_S
        if is_starting or self.was_starting:  # they may have begun at any moment since the last look
            self.until_s = now_s + self.timeout_s
            self.was_starting = is_starting
        elif now_s >= self.until_s:
            raise late_error(self.timeout_s, self.flight.give_up())
