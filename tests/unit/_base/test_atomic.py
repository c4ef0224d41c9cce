from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from headrace._base.atomic import AtomicFile, write_atomic
from headrace.errors import DiskFullError, StorageError


def test_a_file_appears_whole_and_replaces(tmp_path: Path) -> None:
    path = tmp_path / "x"
    for data in (b"first", b"second"):
        with AtomicFile(path) as file:
            file.write(data[:2])
            file.write(memoryview(data)[2:])
            assert not path.exists() or path.read_bytes() != data
        assert path.read_bytes() == data
    assert list(tmp_path.iterdir()) == [path]


def test_an_exception_leaves_what_was_there(tmp_path: Path) -> None:
    write_atomic(tmp_path / "x", b"old")

    def write_half() -> None:
        with AtomicFile(tmp_path / "x") as file:
            file.write(b"new")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        write_half()
    assert (tmp_path / "x").read_bytes() == b"old"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("call", ["write", "fsync"])
def test_a_full_disk_is_said_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, call, full)
    with pytest.raises(DiskFullError, match="Free some space"):
        write_atomic(tmp_path / "x", b"data")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="gone"):
        write_atomic(tmp_path / "gone" / "x", b"data")


def test_a_file_system_that_cannot_flush_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flush = os.fsync

    def refuse_folders(fd: int) -> None:
        if Path(f"/dev/fd/{fd}").is_dir():
            raise OSError(errno.EINVAL, "no")
        flush(fd)

    monkeypatch.setattr(os, "fsync", refuse_folders)
    write_atomic(tmp_path / "x", b"data")
    assert (tmp_path / "x").read_bytes() == b"data"
