"""Hints to the page cache."""

from __future__ import annotations

import os


def will_need(fd: int, offset: int, size_bytes: int) -> None:
    """Asks the system to read a range of a file into the page cache; nothing where it takes no such hints (macOS).

    The call may last until the reads are handed to the device; the reads go on after it.
    """
    if size_bytes > 0 and hasattr(os, "posix_fadvise"):
        os.posix_fadvise(fd, offset, size_bytes, os.POSIX_FADV_WILLNEED)
