"""Reads that cover ranges: the native plan is the one in numpy, every range is where it says, no more is read than
gaps allow."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace import _native
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


def bytes_at(read, place):
    start = int(read.addresses.flat[place]) - read.arena.ctypes.data
    return read.arena[start : start + int(read.sizes.flat[place])].tobytes()


def as_table(*columns):
    """One field of as many rows."""
    return [column.reshape(1, -1) for column in columns]


@given(ranges=RANGES)
def test_every_range_is_read(ranges, files):
    numbers, offsets, sizes = columns(ranges)
    opened = np.array([os.open(path, os.O_RDONLY) for path in files], dtype=np.int32)
    try:
        read = read_ranges(*as_table(opened[numbers], offsets, sizes), np.empty)
    finally:
        for fd in opened:
            os.close(fd)
    assert read.failed == {}
    for row, (number, offset, size) in enumerate(ranges):
        assert bytes_at(read, row) == CONTENT[number][offset : offset + size]


@given(ranges=RANGES)
def test_the_native_plan_is_the_reference(ranges):
    numbers, offsets, sizes = columns(ranges)
    plan, native = gather(numbers, offsets, sizes), _native.ReadPlan(*as_table(numbers, offsets, sizes))
    reads = zip(plan.fds, plan.offsets, plan.sizes, plan.places, strict=True)
    assert native.reads == [tuple(map(int, read)) for read in reads]
    assert native.size_bytes == plan.size_bytes
    arena = np.empty(plan.size_bytes, dtype=np.uint8)
    addresses, _ = _native.ReadPlan(*as_table(numbers + 1_000_000, offsets, sizes)).read(arena)
    assert np.array_equal(addresses[0], np.uint64(arena.ctypes.data) + plan.range_places)


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
    read = read_ranges(*as_table(fds[numbers], offsets, sizes), np.empty)
    assert read.failed == {1: ENDED_EARLY}


def test_of_neighbours_only_those_beyond_the_end_have_failed(fds):
    """Two fields of three rows in one read."""
    offsets = np.array([[69_000, 69_980, 0], [69_970, 69_995, 0]], dtype=np.uint64)
    sizes = np.full((2, 3), 10, dtype=np.uint64)
    there = np.array([[True, True, False], [True, True, False]])
    read = read_ranges(np.where(there, fds[0], -1).astype(np.int32), offsets, sizes, np.empty)
    assert read.failed == {4: ENDED_EARLY}
    assert read.addresses[:, 2].tolist() == [0, 0]
    assert bytes_at(read, 1) == CONTENT[0][69_980:69_990]


def test_a_file_that_is_not_open_has_its_errno():
    one = np.ones((1, 1), dtype=np.uint64)
    read = read_ranges(np.array([[1_000_000]], dtype=np.int32), one, one, np.empty)
    assert [os.strerror(code) for code in read.failed.values()] == ["Bad file descriptor"]


def test_arguments_of_plans_are_checked():
    one = np.ones((1, 1), dtype=np.uint64)
    fd = np.zeros((1, 1), dtype=np.int32)
    with pytest.raises(ValueError, match="one shape"):
        _native.ReadPlan(fd, one, np.ones((1, 2), dtype=np.uint64))
    with pytest.raises(ValueError, match="too large"):
        _native.ReadPlan(fd, one, one << np.uint64(63))
    with pytest.raises(ValueError, match="arena must be uint8"):
        _native.ReadPlan(fd, one, one * np.uint64(9)).read(np.zeros(8, dtype=np.uint8))


def whole(paths, chosen):
    encoded = [os.fsencode(path) for path in paths]
    ends = np.cumsum([len(path) for path in encoded], dtype=np.int64)
    return read_files(b"".join(encoded), ends, np.array(chosen, dtype=np.int64), np.empty)


@given(chosen=st.lists(st.integers(0, 2), max_size=8))
def test_whole_files(chosen, files):
    read = whole(files, chosen)
    assert read.failed == {}
    assert [bytes_at(read, row) for row in range(len(chosen))] == [CONTENT[number] for number in chosen]


def test_files_that_cannot_be_opened(files, tmp_path):
    missing = whole([files[0], tmp_path / "none", tmp_path], [0, 1, 2])
    assert {row: os.strerror(code) for row, code in missing.failed.items()} == {
        1: "No such file or directory",
        2: "Is a directory",
    }


def num_open_files():
    return sum(1 for _ in Path("/dev/fd").iterdir())


@pytest.mark.parametrize("is_read", [True, False])
def test_files_are_closed_whether_they_are_read_or_not(is_read, files):
    before, path = num_open_files(), os.fsencode(files[0])
    opened = _native.WholeFiles(path, np.array([len(path)]), np.array([0, 0]))
    assert num_open_files() == before + 2
    if is_read:
        opened.read(np.empty(opened.size_bytes, dtype=np.uint8))
        assert num_open_files() == before
    del opened
    assert num_open_files() == before


def test_paths_are_checked(files):
    path = os.fsencode(files[0])
    one = np.array([len(path)])
    for chosen in (-1, 1):
        with pytest.raises(IndexError):
            _native.WholeFiles(path, one, np.array([chosen]))
    with pytest.raises(ValueError, match="ends must rise"):
        _native.WholeFiles(path, one + 1, np.array([0]))
    with pytest.raises(ValueError, match="NUL"):
        _native.WholeFiles(b"a\0", np.array([2]), np.array([0]))
