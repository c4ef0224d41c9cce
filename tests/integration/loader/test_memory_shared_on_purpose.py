"""What the user shares between processes is shared with worker processes, as torch's workers share it."""

import multiprocessing
import threading
from contextlib import closing
from multiprocessing.shared_memory import SharedMemory

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset

import headrace as hr
from tests.process_maps import needs_process_maps

pytestmark = needs_process_maps

NUM = 16


class Marking(Dataset):
    """Leaves a mark for each sample in memory that was given to it."""

    def __init__(self, marks):
        self.marks = marks
        self.lock = threading.Lock()

    def __len__(self):
        return NUM

    def __getitem__(self, index):
        with self.lock:
            self.marks[index] += 1
        return int(self.marks[index])


def tensor_of_torch(_):
    return torch.zeros(NUM, dtype=torch.int64).share_memory_()


def array_of_multiprocessing(_):
    return np.frombuffer(multiprocessing.Array("q", NUM, lock=False), dtype=np.int64)


def array_in_a_file(folder):
    return np.memmap(folder / "marks", mode="w+", dtype=np.int64, shape=(NUM,))


@pytest.mark.parametrize("make", [tensor_of_torch, array_of_multiprocessing, array_in_a_file])
@pytest.mark.parametrize("make_loader", [torch.utils.data.DataLoader, hr.DataLoader])
def test_what_a_worker_writes_is_seen_by_all(make, make_loader, tmp_path):
    marks = make(tmp_path)
    options = {"engine": "processes"} if make_loader is hr.DataLoader else {}
    loader = make_loader(Marking(marks), batch_size=2, num_workers=2, **options)
    try:
        assert torch.cat(list(loader)).tolist() == [1] * NUM
        assert marks.tolist() == [1] * NUM
        marks[3] = 10
        assert torch.cat(list(loader)).tolist() == [2, 2, 2, 11] + [2] * (NUM - 4)
    finally:
        if make_loader is hr.DataLoader:
            loader.close()


class Tokens(Dataset):
    """Rows of a file that is larger than what anybody would copy."""

    def __init__(self, path):
        self.tokens = np.memmap(path, mode="r", dtype=np.uint16)
        self.ends = torch.from_numpy(self.tokens[-8:].astype(np.int64))

    def __len__(self):
        return 8

    def __getitem__(self, index):
        lines = [line for line in open("/proc/self/maps") if "/memfd:headrace-work" in line]  # noqa: PTH123, SIM115
        spans = [[int(end, 16) for end in line.split()[0].split("-")] for line in lines]
        return int(self.tokens[index]), int(self.ends[index]), sum(end - start for start, end in spans)


def test_a_mapped_file_is_not_copied(tmp_path):
    path = tmp_path / "tokens"
    with path.open("wb") as file:
        file.write(np.arange(8, dtype=np.uint16).tobytes())
        file.truncate(3 << 30)  # a hole: nothing on the disk
    with closing(hr.DataLoader(Tokens(path), batch_size=4, num_workers=1, engine="processes")) as loader:
        batches = list(loader)
    assert torch.cat([first for first, _, _ in batches]).tolist() == list(range(8))
    assert torch.cat([last for _, last, _ in batches]).tolist() == [0] * 8
    assert max(int(size.max()) for _, _, size in batches) < 1 << 20


def test_named_memory_is_shared():
    block = SharedMemory(create=True, size=8 * NUM)
    try:
        marks = np.ndarray(NUM, dtype=np.int64, buffer=block.buf)
        with closing(hr.DataLoader(Marking(marks), batch_size=2, num_workers=2, engine="processes")) as loader:
            list(loader)
            assert marks.tolist() == [1] * NUM
        del marks, loader
    finally:
        block.close()
        block.unlink()
