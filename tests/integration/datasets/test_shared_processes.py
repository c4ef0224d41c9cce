"""Lists in worker processes, however those are started."""

from __future__ import annotations

import gc
import multiprocessing
import multiprocessing.forkserver
import os
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from headrace import SharedDict, SharedList
from headrace.datasets.shared.block import create_block
from headrace.datasets.shared.memory import memory_works
from headrace.datasets.shared.pack_items import pack_items

METHODS = ["spawn", "forkserver", "fork"]
linux = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.fixture(autouse=True)
def no_server_is_left():
    """Python keeps the process that forks others for the next time."""
    yield
    multiprocessing.forkserver._forkserver._stop()


class Paths(torch.utils.data.Dataset):
    """Samples that show in which process they were read."""

    def __init__(self, paths, sizes, images):
        self.paths, self.sizes, self.images = paths, sizes, images

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, index):
        return self.sizes[self.paths[index]], self.images[index], os.getpid()


@pytest.mark.parametrize("method", METHODS)
def test_in_the_workers_of_a_stock_loader(method):
    names = [f"{number}.jpg" for number in range(64)]
    dataset = Paths(
        SharedList(names),
        SharedDict({name: number for number, name in enumerate(names)}),
        SharedList([np.full(3, number, np.float32) for number in range(64)]),
    )
    loader = torch.utils.data.DataLoader(
        dataset, batch_size=8, num_workers=2, multiprocessing_context=method, persistent_workers=True
    )
    for _ in range(2):
        batches = list(loader)
        assert torch.cat([sizes for sizes, _, _ in batches]).tolist() == list(range(64))
        assert torch.cat([images for _, images, _ in batches])[:, 0].tolist() == list(range(64))
        assert os.getpid() not in {int(pid) for _, _, pids in batches for pid in pids}


def answer(shared, other, queue):
    queue.put((list(shared), list(other), shared.block is other.block))


@pytest.mark.parametrize("method, named", [("spawn", not memory_works()), ("forkserver", True)])
def test_two_views_of_a_block_that_its_maker_drops_at_once(method, named):
    """The starting process hands the descriptor over: nobody has to hold the list until the child has opened it."""
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    block = create_block(pack_items(["a", "b", "c"]), named=named)
    shared = SharedList.of_rows(block, range(3))
    child = context.Process(target=answer, args=(shared, shared[1:], queue))
    child.start()
    del shared, block
    gc.collect()
    assert queue.get() == (["a", "b", "c"], ["b", "c"], True)
    child.join()
    queue.close()


def open_and_send(queue, back):
    shared = queue.get()
    back.put(shared[::-1])
    queue.get()


def test_from_process_to_process_through_queues():
    context = multiprocessing.get_context("spawn")
    queue, back = context.SimpleQueue(), context.SimpleQueue()
    child = context.Process(target=open_and_send, args=(queue, back))
    child.start()
    shared = SharedList(["a", "b", "c"])
    queue.put(shared)
    received = back.get()
    queue.put(None)
    assert list(received) == ["c", "b", "a"]
    assert received.block is shared.block
    child.join()
    queue.close()
    back.close()


def private_bytes():
    """Memory that only this process has, as the kernel counts it."""
    lines = Path("/proc/self/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) for line in lines if line.startswith(("Private_Clean", "Private_Dirty"))) << 10


def read_all(shared, queue):
    gc.freeze()
    before = private_bytes()
    for _ in range(2):
        for index in range(len(shared)):
            shared[index]
    queue.put(private_bytes() - before)


@linux
def test_reading_in_a_forked_child_copies_no_page():
    """A plain list is copied page by page, since reading an item counts a reference to it."""
    context = multiprocessing.get_context("fork")
    plain = [(f"/data/train/{number:08d}.jpg", number % 1000) for number in range(200_000)]
    grown = {}
    for name, items in {"shared": SharedList(plain), "plain": plain}.items():
        assert len(list(items)) == len(plain)  # pages that the parent has seen too are no longer the child's alone
        queue = context.SimpleQueue()
        child = context.Process(target=read_all, args=(items, queue))
        child.start()
        grown[name] = queue.get()
        child.join()
        queue.close()
    assert grown["plain"] > 8 << 20
    assert grown["shared"] < 1 << 20


def test_a_forked_child_leaves_the_file_to_its_parent():
    block = create_block(pack_items(["a"]), named=True)
    shared = SharedList.of_rows(block, range(1))
    child = multiprocessing.get_context("fork").Process(target=gc.collect)
    child.start()
    child.join()
    assert Path(shared.block.path).exists()
