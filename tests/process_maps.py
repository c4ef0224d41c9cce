"""Tests that look at the memory of a process, or need a part that does, run where the system lists it."""

from __future__ import annotations

from pathlib import Path

import pytest

needs_process_maps = pytest.mark.skipif(
    not Path("/proc/self/maps").exists(), reason="this system has no /proc, which tells what of memory is a file"
)
