"""Looks for what a test has left behind: threads, processes, shared memory, open files."""

from __future__ import annotations

import gc
import threading
import time
from collections.abc import Callable
from pathlib import Path

import psutil

SHARED_MEMORY = Path("/dev/shm")  # where Linux keeps it; elsewhere it cannot be listed
THREADS = Path("/proc/self/task")


def python_threads() -> set[object]:
    return set(threading.enumerate())


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
    """Children of any generation, except the one that Python keeps to look after shared memory."""
    return {child for child in psutil.Process().children(recursive=True) if "resource_tracker" not in command(child)}


def command(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def shared_memory() -> set[object]:
    """Segments that no stranger on this machine has mapped; semaphores beside them come and go with everybody."""
    segments = {path for path in SHARED_MEMORY.glob("*") if not path.name.startswith("sem.")}
    mapped = strangers_maps() if segments else ""
    return {path for path in segments if str(path) not in mapped}


def strangers_maps() -> str:
    """What the processes outside of this one's family have mapped into memory."""
    family = {child.pid for child in psutil.Process().children(recursive=True)} | {psutil.Process().pid}
    maps = []
    for pid in set(psutil.pids()) - family:
        try:
            maps.append(Path(f"/proc/{pid}/maps").read_text())
        except (OSError, UnicodeDecodeError):
            continue  # it has ended meanwhile, or is somebody else's
    return "".join(maps)


def open_files() -> set[object]:
    return {file.path for file in psutil.Process().open_files()}


LOOKS: dict[str, Callable[[], set[object]]] = {
    "Python threads": python_threads,
    "native threads": native_threads,
    "processes": child_processes,
    "shared memory": shared_memory,
    "open files": open_files,
}

Found = dict[str, set[object]]


def look() -> Found:
    """Everything that is there now."""
    return {kind: find() for kind, find in LOOKS.items()}


def left_behind(before: Found, *, settle_s: float) -> Found:
    """What is there and was not before, once what is about to end has had `settle_s` seconds to do so."""
    until = time.monotonic() + settle_s
    while True:
        left = {kind: things - before[kind] for kind, things in look().items() if things - before[kind]}
        if not left or time.monotonic() > until:
            return left
        gc.collect()
        time.sleep(0.02)
