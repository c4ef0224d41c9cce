import gc
import os
import pickle
import threading

import numpy as np
import pytest
import torch

from headrace.engine import SlotPool, Stats
from headrace.errors import OptionError

SHAPE = (8, 3, 32, 32)


@pytest.fixture
def slots():
    return SlotPool()


def address(array):
    return array.__array_interface__["data"][0]


def free_again(slots, where):
    """Whether the next lease gets the memory that lies at this address."""
    return address(slots.allocate(SHAPE, np.uint8)) == where


@pytest.mark.parametrize("dtype", ["u1", "i8", "f4", "?", "c16", "S5", "datetime64[s]", [("a", "i4"), ("b", "f8", 3)]])
@pytest.mark.parametrize("shape", [(), 7, (0, 5), (64, 33), (3, 224, 224), [2, 100_000]])
def test_array_is_contiguous_writable_and_of_the_right_type(slots, shape, dtype):
    array = slots.allocate(shape, dtype)
    assert array.shape == np.empty(shape, "u1").shape
    assert array.dtype == np.dtype(dtype)
    assert array.flags.c_contiguous
    assert array.flags.writeable
    assert array.flags.aligned
    array[...] = np.zeros((), array.dtype)


@pytest.mark.parametrize("size_bytes", [4096, 5000, 262_144, 300_001, 10_000_000])
def test_leases_are_aligned_and_do_not_overlap(slots, size_bytes):
    arrays = [slots.allocate(size_bytes, np.uint8) for _ in range(5)]
    for number, array in enumerate(arrays):
        assert address(array) % 64 == 0
        array.fill(number)
    for number, array in enumerate(arrays):
        assert (array == number).all()


def test_memory_is_reused_when_the_array_is_gone(slots):
    array = slots.allocate(SHAPE, np.uint8)
    where = address(array)
    del array
    assert free_again(slots, where)


def test_slightly_different_sizes_reuse_memory():
    slots, stats = SlotPool(), Stats()
    rng = np.random.default_rng(0)
    for size in rng.integers(900_000, 1_100_000, 300):
        slots.allocate(int(size), np.uint8, stats)
    assert stats.snapshot().counts["fresh_slots"] <= 4


def test_a_block_much_larger_is_not_taken(slots):
    where = address(slots.allocate(1_000_000, np.uint8))
    assert address(slots.allocate(400_000, np.uint8)) != where


VIEWS = {
    "numpy view": lambda array: array[2:4, 1].T,
    "numpy of another dtype": lambda array: array.view(np.int16),
    "memoryview": memoryview,
    "tensor": torch.from_numpy,
    "tensor, detached": lambda array: torch.from_numpy(array).detach(),
    "tensor view": lambda array: torch.from_numpy(array)[1:2].permute(0, 2, 3, 1),
    "storage": lambda array: torch.from_numpy(array).untyped_storage(),
    "numpy of a tensor": lambda array: torch.from_numpy(array).numpy(),
    "dlpack": torch.from_dlpack,
    "parameter": lambda array: torch.nn.Parameter(torch.from_numpy(array), requires_grad=False),
    "frombuffer": lambda array: np.frombuffer(array, dtype=np.uint8),
}


@pytest.mark.parametrize("view", VIEWS)
def test_whatever_looks_at_the_memory_keeps_it(slots, view):
    array = slots.allocate(SHAPE, np.uint8)
    array.fill(7)
    where = address(array)
    looking = VIEWS[view](array)
    del array
    gc.collect()
    assert not free_again(slots, where)
    del looking
    gc.collect()
    assert free_again(slots, where)


def test_autograd_keeps_what_it_saved(slots):
    array = slots.allocate(SHAPE, np.float32)
    array.fill(3)
    where = address(array)
    weight = torch.ones(SHAPE, requires_grad=True)
    loss = (torch.from_numpy(array) * weight).sum()
    del array
    other = slots.allocate(SHAPE, np.float32)
    other.fill(0)
    assert address(other) != where
    loss.backward()
    assert (weight.grad == 3).all()


def test_a_copy_outlives_the_slot(slots):
    array = slots.allocate(SHAPE, np.uint8)
    array.fill(7)
    copies = [array.copy(), torch.from_numpy(array).clone(), pickle.loads(pickle.dumps(array))]
    del array
    slots.allocate(SHAPE, np.uint8).fill(0)
    assert all((copy == 7).all() for copy in copies)


def test_a_lease_in_a_garbage_cycle_comes_back(slots):
    cycle = [slots.allocate(SHAPE, np.uint8)]
    where = address(cycle[0])
    cycle.append(cycle)
    del cycle
    assert not free_again(slots, where)
    gc.collect()
    assert free_again(slots, where)


def test_a_finaliser_needs_no_lock(slots):
    array = slots.allocate(SHAPE, np.uint8)
    where = address(array)
    with slots.lock:
        del array
    assert free_again(slots, where)


def test_kept_batches_get_fresh_memory_and_are_counted(slots):
    stats = Stats()
    kept = [slots.allocate(SHAPE, np.uint8, stats) for _ in range(10)]
    assert len({address(array) for array in kept}) == 10
    assert stats.snapshot().counts == {"fresh_slots": 10}


def test_as_many_blocks_as_can_be_out_at_once_are_made_before_one_is_reused(slots):
    stats = Stats()
    places = [address(slots.allocate(SHAPE, np.uint8, stats, num_at_once=3)) for _ in range(50)]
    assert len(set(places[:3])) == 3
    assert set(places[3:]) <= set(places[:3])
    assert stats.snapshot().counts == {"fresh_slots": 3}


def test_more_than_expected_are_made_when_they_are_needed(slots):
    kept = [slots.allocate(SHAPE, np.uint8, num_at_once=3) for _ in range(5)]
    assert len({address(array) for array in kept}) == 5


def test_rings_of_different_sizes_grow_in_size_and_not_in_number(slots):
    rng, out = np.random.default_rng(0), []
    for size in rng.integers(700_000, 1_300_000, 300):
        out.append(slots.allocate(int(size), np.uint8, num_at_once=4))
        del out[:-3]
        assert sum(ring.num_blocks for ring in slots.rings.values()) <= 4
    assert max(slots.rings) > 1_250_000


def test_a_ring_is_not_filled_with_more_than_may_lie_unused():
    slots, stats = SlotPool(max_free_bytes=3 << 20), Stats()
    for _ in range(10):
        slots.allocate(1 << 20, np.uint8, stats, num_at_once=100)
    assert stats.snapshot().counts == {"fresh_slots": 3}


def test_the_blocks_of_a_ring_stay_as_long_as_it_is_used(slots):
    def lease(num):
        for _ in range(num):
            slots.allocate(SHAPE, np.uint8, num_at_once=3)

    lease(3)
    places = {block.address for ring in slots.rings.values() for block in [*ring.free, *slots.returned]}
    lease(5000)
    slots.trim(keep_bytes=1 << 30)
    assert {block.address for ring in slots.rings.values() for block in ring.free} == places
    assert len(places) == 3


def test_blocks_beyond_the_ring_are_given_up(slots):
    kept = [slots.allocate(SHAPE, np.uint8, num_at_once=3) for _ in range(10)]
    kept.clear()
    for _ in range(2000):
        slots.allocate(SHAPE, np.uint8, num_at_once=3)
    assert sum(ring.num_blocks for ring in slots.rings.values()) == 3


def test_free_memory_is_bounded():
    slots = SlotPool(max_free_bytes=3 << 20)
    kept = [slots.allocate(1 << 20, np.uint8) for _ in range(10)]
    assert slots.free_bytes == 0
    kept.clear()
    slots.allocate(1 << 20, np.uint8)
    assert slots.free_bytes <= 3 << 20


def test_the_longest_unused_block_goes_first(slots):
    first, second = (slots.allocate(1 << 20, np.uint8) for _ in range(2))
    del first
    young = address(second)
    kept = slots.allocate(8192, np.uint8)
    del second
    slots.trim(keep_bytes=1 << 20)
    assert kept.size == 8192
    assert slots.free_bytes == 1 << 20
    assert address(slots.allocate(1 << 20, np.uint8)) == young


def test_sizes_that_are_not_asked_for_any_more_are_dropped(slots):
    slots.allocate(10_000_000, np.uint8)
    for _ in range(2000):
        slots.allocate(4096, np.uint8)
    assert slots.free_bytes < 100_000


def test_trim_frees_everything(slots):
    slots.allocate(SHAPE, np.uint8)
    slots.trim()
    assert slots.free_bytes == 0


def test_objects_are_refused(slots):
    with pytest.raises(OptionError, match="Python objects"):
        slots.allocate((3,), object)


def test_small_arrays_come_from_the_allocator(slots):
    stats = Stats()
    assert slots.allocate((64,), np.int64, stats).base is None
    assert not stats.snapshot().counts


def test_many_threads_never_share_a_block(slots):
    faults = []

    def use(number):
        for _ in range(300):
            array = slots.allocate(8192, np.int64)
            array.fill(number)
            if not (array == number).all():
                faults.append(number)

    threads = [threading.Thread(target=use, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_can_lease_although_the_lock_was_held_when_it_was_forked(slots):
    kept = slots.allocate(SHAPE, np.uint8)
    kept.fill(5)
    with slots.lock:
        child = os.fork()
        if child == 0:
            slots.allocate(SHAPE, np.uint8).fill(1)
            os._exit(0 if (kept == 5).all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
