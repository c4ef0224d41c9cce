"""How a work is pickled for worker processes: what belongs to one process and can be had anew is had anew there.

A lock that guards a cache, the event of a queue, a function under `functools.lru_cache` and an archive that is open for
reading stand in many datasets. Each worker gets a lock of its own, free, a cache of its own, empty, and opens the file
again, at the same place: what forked processes have, but that those would share the place in the file and read each
other's bytes.
"""

from __future__ import annotations

import functools
import io
import os
import pickle
import stat
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np

from headrace.engine.processes.parcels import PROTOCOL, Pickler

CACHED = type(functools.lru_cache(lambda: None))
LOCK, RLOCK = type(threading.Lock()), type(threading.RLock())


class WorkPickler(Pickler):
    """Pickles what workers are sent."""

    def reducer_override(self, value: Any) -> Any:
        """How to pickle a value; `NotImplemented` for its own way."""
        kind = type(value)
        if kind is np.memmap:
            return rebuild_memmap, (np.asarray(value), value.filename, value.offset, value.mode)
        if kind is LOCK or kind is RLOCK:
            return (threading.Lock if kind is LOCK else threading.RLock), ()
        if kind is threading.local:
            return thread_local, (dict(vars(value)),)
        if kind is io.FileIO or kind is io.BufferedReader:
            path = path_of(value)
            return super().reducer_override(value) if path is None else (reopened, (path, value.tell(), kind))
        if kind is CACHED and not is_importable(value):
            return empty_cache, (value.__wrapped__, value.cache_parameters())
        if isinstance(value, threading.Thread):
            raise pickle.PicklingError(f"cannot pickle {kind.__qualname__!r} object: a thread runs in one process")
        return super().reducer_override(value)


def is_importable(value: Any) -> bool:
    """Whether a worker finds the very object where its names say: not what a script, a notebook or a function holds."""
    name, path = getattr(value, "__module__", None), getattr(value, "__qualname__", "")
    if name is None or is_by_value(name):
        return False
    found: Any = sys.modules.get(name)
    for part in path.split("."):
        found = getattr(found, part, None)
    return found is value


def is_by_value(module: str) -> bool:
    """Whether what this module holds travels itself, rather than its name."""
    parts = module.split(".")
    packages = {".".join(parts[:end]) for end in range(1, len(parts) + 1)}
    return bool(packages & {"__main__", *cloudpickle.list_registry_pickle_by_value()})


def empty_cache(function: Any, parameters: dict[str, Any]) -> Any:
    """A function with a cache of its own: what is in the other one belongs to the other process."""
    return functools.lru_cache(**parameters)(function)


def path_of(file: io.FileIO | io.BufferedReader) -> str | None:
    """Where a regular file that is open for reading alone can be opened again; None where it cannot."""
    if file.closed or file.mode != "rb" or isinstance(file.name, int):
        return None
    try:
        path = os.path.abspath(os.fsdecode(file.name))  # noqa: PTH100 - links stay as they are
        facts = Path(path).stat()
        here = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    same = stat.S_ISREG(facts.st_mode) and (facts.st_ino, facts.st_dev) == (here.st_ino, here.st_dev)
    return path if same else None


def reopened(path: str, position: int, kind: type) -> io.IOBase:
    """The same file, at the same place."""
    raw = io.FileIO(path)
    file: io.IOBase = raw if kind is io.FileIO else io.BufferedReader(raw)
    file.seek(position)
    return file


def rebuild_memmap(array: np.ndarray[Any, Any], filename: Any, offset: Any, mode: Any) -> np.memmap[Any, Any]:
    """An array over the same file; numpy itself would read all of it."""
    made = array.view(np.memmap)
    made.filename, made.offset, made.mode = filename, offset, mode
    return made


def thread_local(values: dict[str, Any]) -> threading.local:
    """What a thread has for itself, in the thread that unpacks the work."""
    made = threading.local()
    vars(made).update(values)
    return made


def pickled_work(value: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any]) -> memoryview:
    """The pickle of what workers are sent; see `parcels.pickled`."""
    stream = io.BytesIO()
    WorkPickler(stream, protocol=PROTOCOL, buffer_callback=buffer_callback).dump(value)
    return stream.getbuffer()
