from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from headrace._base.locks import file_lock
from headrace.errors import StorageError


def test_one_holder_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with (
        file_lock(path, timeout_s=1),
        pytest.raises(StorageError, match="another process") as caught,
        file_lock(path, timeout_s=0.06),
    ):
        pass
    assert caught.value.retryable
    with file_lock(path, timeout_s=0):
        pass


def test_a_waiter_gets_it_next(tmp_path: Path) -> None:
    order = []
    held = threading.Event()

    def hold() -> None:
        with file_lock(tmp_path / "lock", timeout_s=5):
            held.set()
            order.append("first")

    thread = threading.Thread(target=hold)
    with file_lock(tmp_path / "lock", timeout_s=5):
        thread.start()
        assert not held.wait(0.1)
        order.append("holder")
    thread.join()
    assert order == ["holder", "first"]


def test_a_dead_holder_frees_it(tmp_path: Path) -> None:
    code = (
        "import os, sys; from headrace._base.locks import file_lock\n"
        "with file_lock(sys.argv[1], timeout_s=1): os._exit(0)"
    )
    env = {"PYTHONPATH": str(Path(__file__).parents[3] / "src")}
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "lock")], check=True, env=env)
    with file_lock(tmp_path / "lock", timeout_s=0):
        pass


def test_a_place_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="lock file"), file_lock(tmp_path / "gone" / "lock", timeout_s=0):
        pass
