import re
from dataclasses import replace

import pytest

from headrace.errors import MemoryBudgetError
from headrace.loader.preflight import USABLE, Demand, Room, check_memory

MIB = 1 << 20
PHOTOS = Demand(
    num_makers=4,
    max_in_flight=12,
    budget_bytes=1024 * MIB,
    worker_bytes=0,
    row_bytes=MIB,
    batch_size=8,
    copies=1,
)


def room(size_mib):
    return Room(size_bytes=int(size_mib * MIB / USABLE) + 1, where="the control group")


def test_what_fits_stays_as_it_is():
    verdict = check_memory(PHOTOS, room(4096))
    assert (verdict.num_makers, verdict.max_in_flight, verdict.budget_bytes) == (4, 12, 1024 * MIB)


def test_steps_in_flight_go_first_then_workers():
    verdict = check_memory(PHOTOS, room(8 + 5 * 8))
    assert (verdict.num_makers, verdict.max_in_flight, verdict.budget_bytes) == (4, 5, 40 * MIB)
    verdict = check_memory(PHOTOS, room(8 + 2 * 8))
    assert (verdict.num_makers, verdict.max_in_flight) == (2, 2)


def test_samples_of_python_are_there_twice_while_they_are_put_together():
    verdict = check_memory(replace(PHOTOS, copies=2), room(8 + 4 * 16))
    assert (verdict.num_makers, verdict.max_in_flight) == (4, 4)


def test_sixty_four_workers_in_a_control_group_of_one_gigabyte():
    asked = replace(PHOTOS, num_makers=64, max_in_flight=192, worker_bytes=300 * MIB, copies=2)
    verdict = check_memory(asked, room(800))
    assert verdict.num_makers == 2
    unknown = check_memory(replace(asked, row_bytes=None), room(800))
    assert unknown.num_makers == 2
    assert 0 < unknown.budget_bytes <= (800 - 600) * MIB


def test_a_budget_larger_than_the_memory_is_reduced():
    verdict = check_memory(replace(PHOTOS, budget_bytes=1 << 40, row_bytes=None), room(500))
    assert verdict.budget_bytes <= 500 * MIB


@pytest.mark.parametrize(
    ("changes", "most"),
    [
        ({"batch_size": 4096, "row_bytes": 8 * MIB}, 31),
        ({"batch_size": 4096, "row_bytes": 8 * MIB, "copies": 2}, 20),
        ({"batch_size": 4096, "row_bytes": 8 * MIB, "copies": 2, "worker_bytes": 200 * MIB}, 12),
    ],
)
def test_a_batch_far_too_large_is_refused_and_the_largest_one_that_fits_is_named(changes, most):
    demand = replace(PHOTOS, **changes)
    with pytest.raises(MemoryBudgetError, match=r"8 MiB a sample, 4,096 samples a batch") as caught:
        check_memory(demand, room(500))
    assert "the control group" in str(caught.value)
    assert f"batch_size={most} or less" in str(caught.value)
    assert check_memory(replace(demand, batch_size=most), room(500)).max_in_flight == 1
    with pytest.raises(MemoryBudgetError):
        check_memory(replace(demand, batch_size=most + 1), room(500))


def test_samples_of_which_none_fits():
    with pytest.raises(MemoryBudgetError, match="Not even a batch of one sample fits: use smaller samples"):
        check_memory(replace(PHOTOS, row_bytes=300 * MIB, copies=2), room(500))


def test_not_even_one_worker_process():
    with pytest.raises(MemoryBudgetError, match=re.escape("not even 1 worker can be had")):
        check_memory(replace(PHOTOS, worker_bytes=300 * MIB, row_bytes=None), room(310))


def test_threads_take_nothing_for_themselves():
    verdict = check_memory(replace(PHOTOS, row_bytes=None), room(2))
    assert (verdict.num_makers, verdict.max_in_flight) == (4, 12)
    assert verdict.budget_bytes <= MIB


def test_streams_are_read_by_as_many_workers_as_the_order_says():
    demand = replace(PHOTOS, fewest_makers=4, worker_bytes=100 * MIB, row_bytes=None)
    with pytest.raises(MemoryBudgetError, match="not even 4 workers can be had"):
        check_memory(demand, room(350))
    assert check_memory(demand, room(900)).num_makers == 4
    one_at_a_time = check_memory(replace(demand, row_bytes=MIB), room(400 + 16))
    assert (one_at_a_time.num_makers, one_at_a_time.max_in_flight) == (4, 1)
