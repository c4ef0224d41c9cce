"""What all tests share: nothing may be left behind, real photographs to work on, bounded property tests."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import psutil
import pytest

from headrace.cli.demo.photographs import make_photographs

SETTLE_S = 3.0
"""How long what a test has ended may take to be gone."""

SHARED_MEMORY = Path("/dev/shm")  # where Linux keeps it; elsewhere it cannot be listed
THREADS = Path("/proc/self/task")

hypothesis.settings.register_profile(
    "bounded",
    max_examples=40,
    deadline=None,
    derandomize="CI" in os.environ,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("bounded")


@pytest.fixture(scope="session")
def photographs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder tree of 60 real JPEG photographs: ten classes of six, seven sizes. Read-only by agreement."""
    folder = tmp_path_factory.mktemp("photographs") / "tree"
    make_photographs(folder, num=60, seed=0)
    return folder


def python_threads() -> set[object]:
    return {thread for thread in threading.enumerate() if thread.is_alive()}


def native_threads() -> set[object]:
    """Threads of our own native pools; other libraries keep theirs for good."""
    names = {}
    for task in THREADS.iterdir() if THREADS.is_dir() else ():
        try:
            names[task.name] = (task / "comm").read_text().strip()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile
    return {f"{name} ({number})" for number, name in names.items() if name.startswith("headrace")}


def child_processes() -> set[object]:
    return {child for child in psutil.Process().children(recursive=True) if "resource_tracker" not in command(child)}


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def shared_memory() -> set[object]:
    return set(SHARED_MEMORY.iterdir()) if SHARED_MEMORY.is_dir() else set()


def open_files() -> set[object]:
    return {file.path for file in psutil.Process().open_files()}


LOOKS: dict[str, Callable[[], set[object]]] = {
    "Python threads": python_threads,
    "native threads": native_threads,
    "processes": child_processes,
    "shared memory": shared_memory,
    "open files": open_files,
}


@pytest.fixture(autouse=True)
def nothing_left_behind() -> Iterator[None]:
    """Fails a test after which a thread, process, shared memory or open file is left."""
    before = {kind: look() for kind, look in LOOKS.items()}
    yield
    left = {kind: look() - before[kind] for kind, look in LOOKS.items()}
    until = time.monotonic() + SETTLE_S
    while any(left.values()) and time.monotonic() < until:
        gc.collect()
        time.sleep(0.02)
        left = {kind: look() - before[kind] for kind, look in LOOKS.items()}
    left = {kind: things for kind, things in left.items() if things}
    assert not left, f"left behind: {left}"
