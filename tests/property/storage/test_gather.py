"""Reads that cover ranges: every range is where the plan says, and no more is read than gaps allow."""

import os

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.storage import gather, read_files, read_ranges
from headrace.storage.arena import ENDED_EARLY
from headrace.storage.gather import MOST_GAP_BYTES

RANGES = st.lists(st.tuples(st.integers(0, 2), st.integers(0, 60_000), st.integers(0, 9_000)), max_size=40)
CONTENT = [np.random.default_rng(seed).integers(0, 256, 70_000, dtype=np.uint8).tobytes() for seed in range(3)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    paths = []
    for number, content in enumerate(CONTENT):
        path = folder / str(number)
        path.write_bytes(content)
        paths.append(path)
    return paths


@pytest.fixture
def fds(files):
    opened = [os.open(path, os.O_RDONLY) for path in files]
    yield np.array(opened, dtype=np.int32)
    for fd in opened:
        os.close(fd)


def columns(ranges):
    table = np.array(ranges, dtype=np.int64).reshape(-1, 3)
    return table[:, 0].astype(np.int32), table[:, 1].astype(np.uint64), table[:, 2].astype(np.uint64)


def bytes_at(read, row):
    start = int(read.addresses[row]) - read.arena.ctypes.data
    return read.arena[start : start + int(read.sizes[row])].tobytes()


@given(ranges=RANGES)
def test_every_range_is_read(ranges, files):
    numbers, offsets, sizes = columns(ranges)
    opened = np.array([os.open(path, os.O_RDONLY) for path in files], dtype=np.int32)
    try:
        read = read_ranges(opened[numbers], offsets, sizes, np.empty)
    finally:
        for fd in opened:
            os.close(fd)
    assert not read.codes.any()
    for row, (number, offset, size) in enumerate(ranges):
        assert bytes_at(read, row) == CONTENT[number][offset : offset + size]


@given(ranges=RANGES)
def test_reads_waste_no_more_than_the_gaps(ranges):
    numbers, offsets, sizes = columns(ranges)
    plan = gather(numbers, offsets, sizes)
    assert plan.size_bytes <= int(sizes.sum()) + MOST_GAP_BYTES * max(0, len(ranges) - len(plan.fds))
    assert len(plan.fds) <= len(ranges)


def test_neighbours_are_one_read():
    plan = gather(*columns([(0, 1536, 700), (1, 512, 10), (0, 512, 512), (0, 20_000, 5)]))
    assert plan.offsets.tolist() == [512, 20_000, 512]
    assert plan.sizes.tolist() == [1724, 5, 10]


def test_a_file_that_ends_early_has_its_code(fds):
    numbers, offsets, sizes = columns([(0, 0, 10), (1, 69_990, 20)])
    read = read_ranges(fds[numbers], offsets, sizes, np.empty)
    assert read.codes.tolist() == [0, ENDED_EARLY]


def test_whole_files_and_errors(files, tmp_path):
    read = read_files([os.fsencode(path) for path in files], np.empty)
    assert [bytes_at(read, row) for row in range(3)] == CONTENT
    missing = read_files([os.fsencode(files[0]), os.fsencode(tmp_path / "none"), os.fsencode(tmp_path)], np.empty)
    assert [os.strerror(code) for code in missing.codes[1:]] == ["No such file or directory", "Is a directory"]
    assert len(read_files([], np.empty).codes) == 0
