"""Files without a name: shared memory that vanishes with the last process that holds it, whatever ends that process."""

from __future__ import annotations

import contextlib
import os
import tempfile


def anonymous_file(label: str) -> int:
    """Descriptor of a new, empty file that nobody can open by name; not inherited by programs that are started.

    On Linux it lies in memory and needs neither /dev/shm nor a disk. Elsewhere it is a temporary file whose name is
    gone before anything is written to it; the system keeps its pages in memory as long as there is room.

    Args:
        label: What it is for; shown in /proc/PID/maps.
    """
    if hasattr(os, "memfd_create"):
        with contextlib.suppress(OSError):  # sandboxes may forbid the call
            return os.memfd_create(f"headrace-{label}", os.MFD_CLOEXEC)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
