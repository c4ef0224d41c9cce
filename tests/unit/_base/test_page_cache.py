"""What probes say of the page cache, and what hints bring into it."""

from __future__ import annotations

import os
import time

import pytest

from headrace._base.page_cache import PROBE_EVERY_BYTES, seems_there, will_need
from tests.page_cache import bring_in, throw_out

SIZE = 5 * PROBE_EVERY_BYTES + 123


def assert_soon(holds, patience_s=30):
    until_s = time.monotonic() + patience_s
    while not holds():
        assert time.monotonic() < until_s
        time.sleep(0.01)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(os.urandom(SIZE))
    bring_in(path)
    return path


@pytest.fixture
def fd(path):
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


@pytest.mark.parametrize(("offset", "size"), [(0, SIZE), (0, 1), (SIZE - 1, 1), (4097, 2 * PROBE_EVERY_BYTES), (7, 0)])
def test_what_is_there_seems_to_be(fd, offset, size):
    assert seems_there(fd, offset, size)


@pytest.mark.parametrize(("offset", "size"), [(0, SIZE), (SIZE - 1, 1), (PROBE_EVERY_BYTES + 5, 70_000)])
def test_what_is_missing_does_not_until_it_was_asked_for(path, fd, offset, size):
    throw_out(path)
    assert not seems_there(fd, offset, size)
    will_need(fd, offset, size)
    assert_soon(lambda: seems_there(fd, offset, size))


def test_a_range_that_is_there_in_part_is_not_taken_for_whole(path, fd):
    throw_out(path)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # no reading ahead
    os.pread(fd, 4096, 0)
    assert seems_there(fd, 0, 4096)
    assert not seems_there(fd, 0, SIZE)
    assert not seems_there(fd, SIZE, 10), "behind the end of the file"
