"""What of a file lies in the page cache, for tests."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

from headrace.storage import CachedRanges

NUM_TRIES = 50


def there(path: Path, offset: int, size: int) -> bool:
    """Whether a range of a file can be had without waiting for storage."""
    fd = os.open(path, os.O_RDONLY)
    try:
        return CachedRanges(
            np.array([fd], dtype=np.int32), np.array([offset], dtype=np.uint64), np.array([size], dtype=np.uint64)
        ).all_there()
    finally:
        os.close(fd)


def bring_in(path: Path) -> None:
    """Has a file in the page cache; skips the test where nobody can tell whether it is."""
    size = len(path.read_bytes())
    if not there(path, 0, size):
        pytest.skip("this system, or its file system, does not tell what is in the page cache")


def throw_out(path: Path) -> None:
    """Has nothing of a file in the page cache; skips the test where the system keeps it."""
    if not hasattr(os, "posix_fadvise"):
        pytest.skip("this system takes no advice about the page cache")
    for _ in range(NUM_TRIES):
        fd = os.open(path, os.O_RDWR)
        try:
            os.fsync(fd)  # what is not written yet stays
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)
        if not there(path, 0, 1):
            return
        time.sleep(0.01)  # another processor still has it in its list of pages to come
    pytest.skip("this system does not let go of the page cache")
