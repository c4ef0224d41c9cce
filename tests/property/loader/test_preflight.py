"""What the pre-flight lets through fits, and more memory never means less."""

import itertools

from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import MemoryBudgetError
from headrace.loader.preflight import LEAST_FOR_BATCHES_BYTES, USABLE, Demand, Room, check_memory

MIB = 1 << 20

DEMANDS = st.builds(
    Demand,
    num_makers=st.integers(1, 64),
    max_in_flight=st.integers(1, 200),
    budget_bytes=st.integers(LEAST_FOR_BATCHES_BYTES, 1 << 36),
    worker_bytes=st.sampled_from([0, 20 * MIB, 384 * MIB]),
    row_bytes=st.none() | st.integers(1, 1 << 30),
    batch_size=st.integers(1, 2048),
    copies=st.integers(1, 2),
)


@given(demand=DEMANDS, size_bytes=st.integers(0, 1 << 37))
def test_what_is_let_through_fits_and_is_never_more_than_asked(demand, size_bytes):
    where = Room(size_bytes=size_bytes, where="the machine")
    try:
        verdict = check_memory(demand, where)
    except MemoryBudgetError:
        return
    assert 1 <= verdict.num_makers <= demand.num_makers
    assert 1 <= verdict.max_in_flight <= demand.max_in_flight
    assert 1 <= verdict.budget_bytes <= demand.budget_bytes
    batch = (demand.row_bytes or 0) * demand.batch_size
    in_flight = min(verdict.budget_bytes, verdict.max_in_flight * demand.copies * batch or verdict.budget_bytes)
    least = 1  # threads with nothing known about their batches: one step at a time, looked at when it takes memory
    assert verdict.num_makers * demand.worker_bytes + batch + in_flight <= max(least, USABLE * size_bytes)


@given(demand=DEMANDS, sizes=st.tuples(st.integers(0, 1 << 37), st.integers(0, 1 << 37)))
def test_more_memory_never_means_less(demand, sizes):
    found = []
    for size_bytes in sorted(sizes):
        try:
            verdict = check_memory(demand, Room(size_bytes=size_bytes, where="the machine"))
            found.append((verdict.num_makers, verdict.budget_bytes * (verdict.num_makers == demand.num_makers)))
        except MemoryBudgetError:
            found.append((0, 0))
    assert all(less <= more for less, more in itertools.pairwise(found))
