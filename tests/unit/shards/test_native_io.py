"""Ranged reads, opening and mapping of files in the native module."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from headrace import _native


def test_ranges_are_read_where_they_belong(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(path.name.encode() + bytes(range(100)))
    fds, sizes, errors = _native.open_files([os.fsencode(path) for path in paths])
    assert sizes.tolist() == [101, 101]
    assert not errors.any()
    out = np.zeros(64, dtype=np.uint8)
    base = np.uint64(out.ctypes.data)
    # Two neighbours that become one read, one elsewhere, one of nothing, one past the end, one that ends too late.
    offsets = np.array([1, 11, 0, 5, 200, 95], dtype=np.uint64)
    lengths = np.array([10, 10, 1, 0, 1, 10], dtype=np.uint64)
    places = np.array([0, 10, 30, 31, 40, 50], dtype=np.uint64)
    status = _native.read_ranges(fds[[0, 0, 1, 1, 0, 0]], offsets, lengths, base + places)
    _native.close_files(np.append(fds, np.int32(-1)))
    assert status.tolist() == [0, 0, 0, 0, -1, -1]
    assert out[:20].tolist() == list(range(20))
    assert out[30] == ord("b")
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(int(fds[0]))


def test_part_of_a_joined_read_that_fits_is_good(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"0123456789")
    fds, _, _ = _native.open_files([os.fsencode(tmp_path / "a")])
    out = np.zeros(12, dtype=np.uint8)
    starts = np.array([0, 6], dtype=np.uint64)
    lengths = np.full(2, 6, dtype=np.uint64)
    status = _native.read_ranges(np.repeat(fds, 2), starts, lengths, np.uint64(out.ctypes.data) + starts)
    _native.close_files(fds)
    assert status.tolist() == [0, -1]
    assert out[:6].tobytes() == b"012345"


def test_descriptor_that_is_not_open_gives_its_errno() -> None:
    out = np.zeros(1, dtype=np.uint8)
    one = np.array([1], dtype=np.uint64)
    status = _native.read_ranges(np.array([-1], dtype=np.int32), one, one, np.array([out.ctypes.data], dtype=np.uint64))
    assert status.tolist() == [errno.EBADF]


def test_arrays_of_different_lengths_are_refused() -> None:
    one = np.zeros(1, dtype=np.uint64)
    with pytest.raises(ValueError, match="one length"):
        _native.read_ranges(np.zeros(2, dtype=np.int32), one, one, one)


def test_files_that_cannot_be_opened(tmp_path: Path) -> None:
    fds, sizes, errors = _native.open_files([os.fsencode(tmp_path / "gone"), os.fsencode(tmp_path)])
    assert fds.tolist() == [-1, -1]
    assert sizes.tolist() == [0, 0]
    assert errors.tolist() == [errno.ENOENT, errno.EISDIR]
    with pytest.raises(ValueError, match="NUL"):
        _native.open_files([b"a\0b"])


@pytest.mark.timeout(20)
def test_a_named_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    fds, _, errors = _native.open_files([os.fsencode(tmp_path / "pipe")])
    assert (fds[0], errors[0]) == (-1, errno.ESPIPE)
