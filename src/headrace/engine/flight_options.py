"""How an engine of threads runs its steps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from headrace.contracts import Recorder
from headrace.engine.budget import ByteBudget
from headrace.engine.slots import SlotPool


@dataclass(frozen=True, slots=True, kw_only=True)
class FlightOptions:
    """How an engine runs its steps."""

    num_runners: int
    num_io_threads: int
    budget: ByteBudget
    limit_bytes: int | None
    slots: SlotPool
    recorder: Recorder
    max_in_flight: int
    resources: Callable[[], AbstractContextManager[Any]]
    is_prompt: Callable[[], bool] = bool
    """Whether fetching waits for nothing now, so that the thread that has made a batch fetches for the next one; never
    (`bool()` is False) where nobody knows."""
    timeout_s: float | None = None
    """How long the consumer waits for a batch; None: for ever."""
