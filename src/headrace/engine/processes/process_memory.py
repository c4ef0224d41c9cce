"""How much memory this process holds, asked in a microsecond or two."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

import psutil

STATM = Path("/proc/self/statm")
PEAK_UNIT_BYTES = 1 if sys.platform == "darwin" else 1024


class ResidentMemory:
    """Reads the resident memory of this process again and again."""

    def __init__(self) -> None:
        self.fd = os.open(STATM, os.O_RDONLY | os.O_CLOEXEC) if STATM.exists() else -1

    def size_bytes(self) -> int:
        """Bytes in memory now."""
        if self.fd < 0:
            return int(psutil.Process().memory_info().rss)
        pages = os.pread(self.fd, 256, 0).split()[1]
        return int(pages) * resource.getpagesize()


def peak_bytes() -> int:
    """The most that this process has held. Begins, on Linux, with what its parent held when it started it."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT_BYTES
