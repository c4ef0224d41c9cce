"""What stays in the page cache: ranges are there only where they can be read whole, and a miss is remembered."""

import os
import pickle

import numpy as np
import pytest

from headrace.storage import CachedRanges, PageCacheReads
from headrace.storage.page_cache import (
    FORGIVEN_AFTER_BATCHES,
    LARGEST_BYTES,
    MOST_DOUBLINGS,
    MOST_WAIT_S,
    PAUSE_BATCHES,
    WHOLE_AFTER_BATCHES,
)
from tests.page_cache import bring_in, throw_out

SIZE = 300_000


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(np.random.default_rng(0).bytes(SIZE))
    return path


@pytest.fixture
def fd(path):
    fd = os.open(path, os.O_RDONLY)
    yield fd
    os.close(fd)


def arrays(fds, offsets, sizes):
    return np.array(fds, dtype=np.int32), np.array(offsets, dtype=np.uint64), np.array(sizes, dtype=np.uint64)


def all_there(*ranges):
    return CachedRanges(*arrays(*zip(*ranges, strict=True))).all_there()


def test_ranges_are_there_once_they_were_read(path, fd):
    bring_in(path)
    assert all_there((fd, 0, 1), (fd, 5, 1000), (fd, SIZE - 10, 10), (fd, 0, SIZE))
    throw_out(path)
    assert not all_there((fd, 0, 1))
    os.pread(fd, 4096, 0)
    assert all_there((fd, 0, 4096))


def test_a_range_that_cannot_be_read_is_not_there(path, fd):
    bring_in(path)
    assert not all_there((fd, 0, 10), (fd, SIZE - 10, 11))
    assert not all_there((fd, SIZE, 1))
    assert not all_there((fd, 2**63 + 5, 10))
    assert not all_there((987_654, 0, 10))


def test_where_there_is_no_range_none_lacks(path, fd):
    bring_in(path)
    assert all_there((fd, 0, 10), (-1, 0, 0), (fd, SIZE + 5, 0))
    assert CachedRanges(*arrays([], [], [])).all_there()


def test_lengths_must_agree():
    with pytest.raises(ValueError, match="one length"):
        CachedRanges(*arrays([1], [0, 1], [1, 1]))


def test_what_follows_a_batch_that_is_there_is_not_looked_for(path, fd):
    bring_in(path)
    reads = PageCacheReads()
    assert reads.found(*arrays([fd], [0], [SIZE]))
    assert reads.found(*arrays([fd], [SIZE], [1]))  # it is not there, and whoever decodes it will see


def test_after_a_miss_batches_are_read_ahead_for_a_while(path, fd):
    bring_in(path)
    reads, whole = PageCacheReads(), arrays([fd], [0], [SIZE])
    assert reads.found(*whole)
    reads.waited(2 * MOST_WAIT_S)
    assert [reads.found(*whole) for _ in range(PAUSE_BATCHES)] == [False] * PAUSE_BATCHES
    throw_out(path)
    assert not reads.found(*whole)  # it looks again
    bring_in(path)
    assert reads.found(*whole)


def test_each_further_miss_doubles_the_pause_up_to_a_limit(path, fd):
    bring_in(path)
    reads, whole, pauses = PageCacheReads(), arrays([fd], [0], [SIZE]), []
    for _ in range(9):
        assert reads.found(*whole)
        reads.waited(2 * MOST_WAIT_S)
        pauses.append(next(number for number in range(10**6) if reads.found(*whole)))
    assert pauses == [PAUSE_BATCHES << min(doublings, MOST_DOUBLINGS) for doublings in range(9)]
    assert max(pauses) == 4096


def test_batches_that_are_under_way_together_are_missed_once(path, fd):
    bring_in(path)
    reads, whole = PageCacheReads(), arrays([fd], [0], [SIZE])
    assert reads.found(*whole)
    for _ in range(5):
        reads.waited(2 * MOST_WAIT_S)
    assert [reads.found(*whole) for _ in range(PAUSE_BATCHES + 1)] == [False] * PAUSE_BATCHES + [True]


def test_a_short_wait_is_no_miss_and_many_good_batches_forgive_earlier_ones(path, fd):
    bring_in(path)
    reads, whole = PageCacheReads(), arrays([fd], [0], [SIZE])
    for _ in range(3):
        while not reads.found(*whole):
            pass
        reads.waited(MOST_WAIT_S / 2)
        assert reads.found(*whole)
        reads.waited(2 * MOST_WAIT_S)
    while not reads.found(*whole):
        pass
    for _ in range(FORGIVEN_AFTER_BATCHES):
        assert reads.found(*whole)
    reads.waited(2 * MOST_WAIT_S)
    assert [reads.found(*whole) for _ in range(PAUSE_BATCHES + 1)] == [False] * PAUSE_BATCHES + [True]


def test_windows_are_taken_to_be_whole_once_no_page_was_missing_for_a_while(path, fd):
    bring_in(path)
    reads, whole = PageCacheReads(), arrays([fd], [0], [SIZE])
    for _ in range(2):
        for _ in range(WHOLE_AFTER_BATCHES):
            assert not reads.is_whole
            assert reads.found(*whole)
            reads.waited(0.0)
        assert reads.is_whole
        reads.waited(MOST_WAIT_S / 2)
    assert not reads.is_whole
    assert reads.found(*whole), "a short wait is no miss"


def test_large_images_and_empty_batches_are_read_ahead(path, fd):
    bring_in(path)
    reads = PageCacheReads()
    assert not reads.found(*arrays([], [], []))
    assert not reads.found(*arrays([fd, fd], [0, 0], [10, LARGEST_BYTES + 1]))
    assert reads.found(*arrays([fd], [0], [10]))


def test_what_was_seen_does_not_travel(path, fd):
    bring_in(path)
    reads = PageCacheReads()
    before = pickle.dumps(reads)
    assert reads.found(*arrays([fd], [0], [SIZE]))
    assert pickle.dumps(reads) == before  # and so a dataset is not one that changes while it makes samples
    assert not pickle.loads(before).is_trusted
