"""What is in the page cache, and hints to it."""

from __future__ import annotations

import os

import numpy as np

from headrace import _native

PROBE_EVERY_BYTES, MOST_PROBES = 1 << 20, 64


def will_need(fd: int, offset: int, size_bytes: int) -> None:
    """Asks the system to read a range of a file into the page cache; nothing where it takes no such hints (macOS).

    The call may last until the reads are handed to the device; the reads go on after it. It goes through all pages of
    the range also where none is missing.
    """
    if size_bytes > 0 and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, offset, size_bytes, os.POSIX_FADV_WILLNEED)


def seems_there(fd: int, offset: int, size_bytes: int) -> bool:
    """Whether probes of a range, its last byte among them, are in the page cache; False where the system is silent.

    Takes a twentieth of what the hint takes where everything is there, and leaves the caches of the processor alone.
    """
    if size_bytes <= 0:
        return True
    num_probes = 1 + min(-(-size_bytes // PROBE_EVERY_BYTES), MOST_PROBES)
    probes = np.linspace(offset, offset + size_bytes - 1, num_probes)
    fds, ones = np.full(len(probes), fd, dtype=np.int32), np.ones(len(probes), dtype=np.uint64)
    return _native.CachedRanges(fds, probes.astype(np.uint64), ones).all_there()
