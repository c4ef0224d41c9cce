"""The net under all other tests has no hole."""

from __future__ import annotations

import subprocess
import sys
import threading
from contextlib import contextmanager
from multiprocessing.shared_memory import SharedMemory

import pytest

from tests.left_behind import left_behind, look


@contextmanager
def a_thread(_):
    done = threading.Event()
    thread = threading.Thread(target=done.wait)
    thread.start()
    yield
    done.set()
    thread.join()


@contextmanager
def a_process(_):
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        yield
        process.communicate(b"\n")


@contextmanager
def some_shared_memory(_):
    memory = SharedMemory(create=True, size=4096)
    yield
    memory.close()
    memory.unlink()


@contextmanager
def an_open_file(folder):
    with (folder / "file").open("w"):
        yield


@pytest.mark.parametrize(
    ("leave", "kind"),
    [
        (a_thread, "Python threads"),
        (a_process, "processes"),
        (some_shared_memory, "shared memory"),
        (an_open_file, "open files"),
    ],
)
def test_is_seen_while_it_is_there(leave, kind, tmp_path):
    before = look()
    with leave(tmp_path):
        assert kind in left_behind(before, settle_s=0.0)
    assert kind not in left_behind(before, settle_s=3.0)


def test_what_ends_in_time_is_no_fault():
    before = look()
    timer = threading.Timer(0.1, lambda: None)
    timer.start()
    assert left_behind(before, settle_s=3.0) == {}
