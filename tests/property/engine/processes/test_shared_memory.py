"""Memory that two processes look at: here both sides are in one, each with mappings of its own."""

import gc
import os
import pickle

import numpy as np
import psutil
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from headrace.engine.processes.anonymous_file import anonymous_file
from headrace.engine.processes.consumer_slots import ConsumerSlots
from headrace.engine.processes.parcels import Packer, unpack
from headrace.engine.processes.ranges import first_fit
from headrace.engine.processes.windows import FIRST_WINDOW_BYTES, SharedFile, window_bytes, window_number, window_start
from headrace.engine.processes.worker_slots import WorkerSlots

SIZES = st.sampled_from([4096, 5000, 70_000, 300_000, 1 << 20])


def two_sides(*, max_free_bytes=8 << 20):
    fd = anonymous_file("test")
    return WorkerSlots(SharedFile(fd), max_free_bytes=max_free_bytes), ConsumerSlots(SharedFile(os.dup(fd)))


def sent(slots, consumer, value):
    """The value as the consumer gets it, by way of bytes alone."""
    return unpack(pickle.loads(pickle.dumps(Packer(slots).pack(value))), consumer.lease)


# --- places in the file


@given(st.integers(0, 1 << 50))
def test_windows_cover_every_offset_once(offset):
    number = window_number(offset)
    assert window_start(number) <= offset < window_start(number) + window_bytes(number) == window_start(number + 1)


@given(st.integers(0, 1 << 40), st.integers(1, 1 << 40))
def test_a_range_lies_in_one_window(end, size_bytes):
    offset = first_fit(end, size_bytes)
    assert offset >= end
    assert window_number(offset) == window_number(offset + size_bytes - 1)


def test_ranges_beyond_the_first_window():
    slots, consumer = two_sides()
    big = slots.allocate(FIRST_WINDOW_BYTES + 5, np.uint8)
    big[[0, -1]] = 1, 2
    small = slots.allocate(5000, np.uint8)
    small.fill(3)
    came, other = sent(slots, consumer, (big, small))
    assert (came[0], came[-1], other[0]) == (1, 2, 3)


# --- leases on both sides


OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("make"), SIZES),
        st.tuples(st.sampled_from(["send", "forget here", "forget there"]), st.integers(0, 1 << 16)),
    ),
    max_size=80,
)


@settings(max_examples=60)
@given(OPERATIONS)
def test_no_array_is_overwritten_while_either_side_looks_at_it(operations):
    slots, consumer = two_sides(max_free_bytes=2 << 20)
    here, there, number = {}, {}, 0
    for operation, argument in operations:
        if operation == "make":
            number += 1
            here[number] = slots.allocate(argument, np.uint8)
            here[number].fill(number % 251)
        elif operation == "send" and here:
            chosen = list(here)[argument % len(here)]
            there[chosen] = sent(slots, consumer, [here[chosen], here[chosen][10:20]])[1]
        elif operation == "forget here" and here:
            del here[list(here)[argument % len(here)]]
        elif operation == "forget there" and there:
            del there[list(there)[argument % len(there)]]
        for held in (here, there):
            for one, array in held.items():
                assert (array == one % 251).all()


def test_memory_is_used_again_when_both_sides_have_let_go():
    slots, consumer = two_sides()
    array = slots.allocate(100_000, np.uint8)
    where = array.__array_interface__["data"][0]
    came = torch.from_numpy(sent(slots, consumer, array)).detach()
    del array
    assert slots.allocate(100_000, np.uint8).__array_interface__["data"][0] != where
    del came
    gc.collect()
    arrays = [slots.allocate(100_000, np.uint8) for _ in range(2)]
    assert where in {array.__array_interface__["data"][0] for array in arrays}


def test_one_array_in_more_batches_than_there_are_marks():
    slots, consumer = two_sides()
    array = slots.allocate(5000, np.uint8)
    array.fill(1)
    came = [sent(slots, consumer, array) for _ in range(100)]
    del array
    while came:
        slots.allocate(5000, np.uint8).fill(0)
        assert all((one == 1).all() for one in came)
        came.pop()


def test_what_is_given_up_goes_back_to_the_system():
    slots, _ = two_sides(max_free_bytes=1 << 20)
    for _ in range(3):
        arrays = [slots.allocate(8 << 20, np.uint8) for _ in range(4)]
        for array in arrays:
            array.fill(1)
        del arrays, array
    slots.trim()
    if hasattr(os, "memfd_create"):
        assert os.fstat(slots.ranges.file.fd).st_blocks * 512 < 2 << 20
    assert (slots.allocate(8 << 20, np.uint8)[:10] == 0).all()


def test_a_thousand_kept_batches_need_a_handful_of_descriptors():
    slots, consumer = two_sides()
    before = psutil.Process().num_fds()
    kept = [sent(slots, consumer, slots.allocate(5000, np.uint8)) for _ in range(1000)]
    assert len(kept) == 1000
    assert psutil.Process().num_fds() - before <= 4


# --- parcels


ARRAYS = hnp.arrays(
    st.one_of(hnp.integer_dtypes(), hnp.floating_dtypes(), hnp.boolean_dtypes(), hnp.datetime64_dtypes()),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=40),
)
TENSORS = st.builds(
    lambda size, dtype, flip: torch.arange(size * 7).reshape(size, 7).to(dtype)[:, ::2].permute(*flip),
    st.integers(0, 800),
    st.sampled_from([torch.uint8, torch.float32, torch.bfloat16, torch.bool, torch.complex64, torch.int64]),
    st.sampled_from([(0, 1), (1, 0)]),
)
LEAVES = st.one_of(ARRAYS, TENSORS, st.none(), st.integers(), st.text(max_size=20), st.binary(max_size=9000))
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4),
        st.tuples(inner, inner),
        st.dictionaries(st.text(max_size=3), inner, max_size=4),
    ),
    max_leaves=8,
)


def facts(value):
    """What must be the same on both sides, as a value that can be compared."""
    if isinstance(value, torch.Tensor):
        return str(value.dtype), tuple(value.shape), value.contiguous().view(-1).to(torch.complex128).tolist()
    if isinstance(value, np.ndarray):
        # numpy itself pickles dates of foreign byte order in the order of the machine
        native = np.ascontiguousarray(value.astype(value.dtype.newbyteorder("=")))
        return native.dtype.str, value.shape, native.tobytes()
    if isinstance(value, dict):
        return {key: facts(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(facts(inner) for inner in value)
    return value


@given(VALUES)
def test_values_come_as_they_were(value):
    slots, consumer = two_sides()
    came = sent(slots, consumer, value)
    assert facts(came) == facts(value)


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[3:90], lambda a: a.T, lambda a: a.view(np.int16)[5]])
def test_views_of_shared_memory_are_sent_without_a_copy(view):
    slots, consumer = two_sides()
    array = slots.allocate((100, 200), np.int64)
    array[...] = np.arange(20_000).reshape(100, 200)
    parcel = Packer(slots).pack([view(array), torch.from_numpy(view(array))])
    assert len(parcel.ranges) == 1
    array += 1
    plain, tensor = unpack(parcel, consumer.lease)
    np.testing.assert_array_equal(plain, view(array))
    np.testing.assert_array_equal(tensor.numpy(), view(array))


def test_a_small_view_of_a_large_tensor_brings_only_itself():
    slots, consumer = two_sides()
    large = torch.arange(10_000_000)
    parcel = Packer(slots).pack(large[5000:7000])
    assert sum(one.size_bytes for one in parcel.ranges) < 20_000
    assert unpack(parcel, consumer.lease).tolist() == list(range(5000, 7000))
