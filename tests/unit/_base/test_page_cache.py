"""The system is only told of ranges of which something is missing in the page cache."""

from __future__ import annotations

import os

import pytest

from headrace._base import page_cache
from headrace._base.page_cache import PROBE_EVERY_BYTES, seems_there, will_need
from tests.page_cache import bring_in, throw_out

SIZE = 5 * PROBE_EVERY_BYTES + 123


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


@pytest.fixture
def hints(monkeypatch):
    """The hints that were given."""
    if not hasattr(os, "posix_fadvise"):
        pytest.skip("this system takes no hints")
    given = []
    advise = os.posix_fadvise
    monkeypatch.setattr(page_cache.os, "posix_fadvise", lambda *hint: (given.append(hint), advise(*hint)))
    return given


def test_what_is_there_is_not_asked_for(fd, hints):
    for offset, size in ((0, SIZE), (0, 1), (SIZE - 1, 1), (4097, 2 * PROBE_EVERY_BYTES), (7, 0)):
        will_need(fd, offset, size)
    assert hints == []


@pytest.mark.parametrize(("offset", "size"), [(0, SIZE), (SIZE - 1, 1), (PROBE_EVERY_BYTES + 5, 70_000)])
def test_what_is_missing_is_asked_for(path, fd, hints, offset, size):
    throw_out(path)
    hints.clear()
    will_need(fd, offset, size)
    assert hints == [(fd, offset, size, os.POSIX_FADV_WILLNEED)]


def test_a_range_that_is_there_in_part_is_not_taken_for_whole(path, fd):
    throw_out(path)
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)  # no reading ahead
    os.pread(fd, 4096, 0)
    assert seems_there(fd, 0, 4096)
    assert not seems_there(fd, 0, SIZE)
    assert not seems_there(fd, SIZE, 10), "behind the end of the file"
