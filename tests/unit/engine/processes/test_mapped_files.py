import ctypes
import mmap
import multiprocessing
import os
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import pytest
import torch

from headrace.engine.processes import mapped_files as module
from headrace.engine.processes.anonymous_file import anonymous_file
from headrace.engine.processes.mapped_files import mapped_file, mapped_files, opened_files
from headrace.errors import StorageError
from tests.process_maps import needs_process_maps


def found(array):
    return mapped_files().find(array.__array_interface__["data"][0], array.nbytes)


@needs_process_maps
def test_memory_of_files_is_found_and_mapped_again(tmp_path):
    rows = np.memmap(tmp_path / "two words", mode="w+", dtype=np.int32, shape=(5000,))
    rows[:] = np.arange(5000)
    part = rows[3000:4000]
    file = found(part)
    assert file.path == str(tmp_path / "two words")
    assert file.is_writable
    assert found(rows) == file, "one mapping, however many parts of it are asked for"
    memory = file.mapped()
    start = part.__array_interface__["data"][0] - file.address
    again = memory[start : start + part.nbytes].view(np.int32)
    assert again.tolist() == part.tolist()
    again[0] = -1
    assert part[0] == -1


@needs_process_maps
def test_files_mapped_for_reading_are_not_written_to(tmp_path):
    (tmp_path / "rows").write_bytes(bytes(range(100)))
    rows = np.memmap(tmp_path / "rows", mode="r", dtype=np.uint8)
    file = found(rows)
    assert not file.is_writable
    assert file.size_bytes == 100
    memory = file.mapped()
    memory[0] = 77
    assert rows[0] == 0


def tensor_of_torch():
    return torch.zeros(9).share_memory_().numpy()


def array_of_multiprocessing():
    return np.frombuffer(multiprocessing.Array("d", 9, lock=False))


@needs_process_maps
@pytest.mark.parametrize("make", [tensor_of_torch, array_of_multiprocessing])
def test_memory_without_a_name_is_found(make):
    shared = make()
    file = found(shared)
    start = shared.__array_interface__["data"][0] - file.address
    file.mapped()[start : start + shared.nbytes].view(shared.dtype)[:] = 5
    assert shared.tolist() == [5] * 9


@needs_process_maps
def test_named_memory_is_found():
    block = SharedMemory(create=True, size=64)
    array = np.ndarray(8, dtype=np.int64, buffer=block.buf)
    assert found(array).mapped()[:8].tolist() == [0] * 8
    del array
    block.close()
    block.unlink()


def test_memory_of_this_process_alone_is_no_file(tmp_path):
    (tmp_path / "rows").write_bytes(bytes(10_000))
    private = np.memmap(tmp_path / "rows", mode="c", dtype=np.uint8)
    fd = anonymous_file("test")
    os.truncate(fd, 4096)
    ours = np.frombuffer(mmap.mmap(fd, 4096), dtype=np.uint8)
    os.close(fd)
    unnamed = np.frombuffer(mmap.mmap(-1, 4096), dtype=np.uint8)
    for array in (np.zeros(10**6), np.zeros(0), private, ours, unnamed):
        assert found(array) is None
    assert mapped_files().find(0, ctypes.sizeof(ctypes.c_int)) is None


@needs_process_maps
def test_a_part_that_goes_beyond_its_file_is_none(tmp_path):
    rows = np.memmap(tmp_path / "rows", mode="w+", dtype=np.uint8, shape=(5000,))
    address = rows.__array_interface__["data"][0]
    assert mapped_files().find(address + 4000, 1000) is not None
    assert mapped_files().find(address + 4000, 1001) is None


@needs_process_maps
def test_advice_for_some_pages_does_not_cut_a_file_into_pieces(tmp_path):
    rows = np.memmap(tmp_path / "rows", mode="w+", dtype=np.uint8, shape=(10 * mmap.PAGESIZE + 7,))
    rows._mmap.madvise(mmap.MADV_RANDOM, 3 * mmap.PAGESIZE, 2 * mmap.PAGESIZE)
    file = found(rows)
    assert file.size_bytes == rows.nbytes
    rows[-1] = 5
    assert file.mapped()[-1] == 5


@needs_process_maps
def test_many_parts_without_a_name_are_found_in_one_look_at_open_files(monkeypatch):
    looks = []
    monkeypatch.setattr(module, "opened_files", lambda: looks.append(1) or opened_files())
    tensors = [torch.full((3,), number).share_memory_().numpy() for number in range(20)]
    files = mapped_files()
    for number, tensor in enumerate(tensors):
        file = files.find(tensor.__array_interface__["data"][0], tensor.nbytes)
        assert file.mapped()[:8].view(np.int64).tolist() == [number]
    assert looks == [1]


@pytest.mark.parametrize("line", ["", "00400000-00500000 rw-s 00000000 00:00 0", "0-1000 r--p 0 08:01 7 /etc/passwd"])
def test_lines_that_tell_of_no_shared_file(line):
    assert mapped_file(line, dict) is None


@needs_process_maps
def test_a_file_that_is_gone_is_named(tmp_path):
    path = tmp_path / "rows"
    rows = np.memmap(path, mode="w+", dtype=np.uint8, shape=(5000,))
    file = found(rows)
    path.rename(tmp_path / "moved")
    with pytest.raises(StorageError, match="cannot be mapped by a worker"):
        file.mapped()
    path.write_bytes(bytes(5000))
    with pytest.raises(StorageError, match="another file stands in its place"):
        file.mapped()
    (tmp_path / "moved").rename(path)
    os.truncate(path, 10)
    with pytest.raises(StorageError, match="cannot be mapped by a worker"):
        file.mapped()
