"""How long the calling thread has run, and how long it was ready to run while others had the CPU."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import NamedTuple

NS_PER_S = 1e9
SCHEDULED = Path("/proc/thread-self/schedstat")
"""Linux: nanoseconds that this thread has run, nanoseconds that it stood in the queue of a CPU, and how often."""


class ThreadClock(NamedTuple):
    """Seconds since the thread began."""

    run_s: float
    queued_s: float
    """0 where the system does not tell."""


def thread_clock() -> ThreadClock:
    """What the calling thread has had of a CPU so far."""
    queued_s = 0.0
    with contextlib.suppress(OSError, ValueError, IndexError):
        queued_s = int(SCHEDULED.read_text().split()[1]) / NS_PER_S
    return ThreadClock(time.thread_time(), queued_s)
