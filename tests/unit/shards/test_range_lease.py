"""A lease that is kept holds its shards open until it is forgotten, and never so many that others wait for ever."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from headrace._base.open_files import OPEN_FILES
from headrace.shards import DatasetIndex, ShardSet, ShardWriter

ENTRIES = (("txt",),)


@pytest.fixture
def shards(tmp_path: Path) -> Iterator[ShardSet]:
    """Twelve shards of one sample."""
    with ShardWriter(tmp_path / "x-%02d.tar", samples_per_shard=1) as writer:
        for i in range(12):
            writer.write({"__key__": f"k{i}", "txt": f"text {i}"})
    shards = ShardSet(DatasetIndex.open(tmp_path))
    yield shards
    shards.close()


@pytest.fixture
def few_files() -> Iterator[None]:
    """A limit with which eight files are read at a time."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (32, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def ids(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, dtype=np.int64)


def test_a_kept_lease_holds_its_shards_until_it_is_forgotten(shards: ShardSet) -> None:
    with shards.fetch_ranges(ids(3, 7), ENTRIES) as lease:
        assert lease.keep()
    shards.close()
    assert (OPEN_FILES.num_in_use, shards.num_open) == (2, 2)
    assert os.pread(int(lease.fds[0][1]), int(lease.sizes[0][1]), int(lease.offsets[0][1])) == b"text 7"
    del lease
    assert OPEN_FILES.num_in_use == 0
    shards.close()
    assert shards.num_open == 0


def test_another_lease_ends_with_its_block(shards: ShardSet) -> None:
    with shards.fetch_ranges(ids(3, 7), ENTRIES) as lease:
        assert OPEN_FILES.num_in_use == 2
    assert OPEN_FILES.num_in_use == 0
    del lease
    assert OPEN_FILES.num_in_use == 0


@pytest.mark.usefixtures("few_files")
def test_no_more_than_half_of_the_files_are_kept(shards: ShardSet) -> None:
    with shards.fetch_ranges(ids(0, 1, 2, 3), ENTRIES) as first:
        assert first.keep()
    with shards.fetch_ranges(ids(4), ENTRIES) as second:
        assert not second.keep()
    with shards.fetch_ranges(ids(0, 2), ENTRIES) as third:
        assert third.keep()  # they are open anyway
    with shards.fetch_ranges(ids(4, 5, 6, 7), ENTRIES):  # the most that is asked for at once has room
        assert OPEN_FILES.num_in_use == 8
    del first
    assert OPEN_FILES.num_in_use == 2
    del third
    assert OPEN_FILES.num_in_use == 0


def test_a_lease_may_be_forgotten_by_who_holds_the_lock(shards: ShardSet) -> None:
    with shards.fetch_ranges(ids(3), ENTRIES) as lease:
        assert lease.keep()
    with OPEN_FILES.turn:
        del lease
        assert OPEN_FILES.num_in_use == 1
    with shards.fetch_ranges(ids(5), ENTRIES):
        assert OPEN_FILES.num_in_use == 1
    shards.close()
    assert shards.num_open == 0


def test_leases_are_forgotten_in_any_thread(shards: ShardSet) -> None:
    def many() -> None:
        for number in range(200):
            with shards.fetch_ranges(ids(number % 12), ENTRIES) as lease:
                lease.keep()
            del lease

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    OPEN_FILES.settle()
    assert OPEN_FILES.num_in_use == 0


def test_a_forked_child_forgets_the_leases_of_its_parent(shards: ShardSet) -> None:
    with shards.fetch_ranges(ids(3), ENTRIES) as lease:
        assert lease.keep()
    child = os.fork()
    if child == 0:
        with shards.fetch_ranges(ids(4), ENTRIES):
            del lease
            os._exit(0 if OPEN_FILES.num_in_use == 1 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
