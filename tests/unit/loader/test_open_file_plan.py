import pytest

from headrace.errors import OpenFilesError
from headrace.loader.open_file_plan import OF_A_WORKER, least_limit, plan_open_files


def plan(processes=0, files=0, **limits):
    return plan_open_files(processes, files, **{"num_open": 20, "soft": 1024, "hard": 4096} | limits)


def test_nothing_is_said_where_the_limit_is_high_enough():
    for one in (plan(8, 100), plan(0, 256), plan(64, 1024, soft=None, hard=None)):
        assert (one.raise_to, one.choice) == (None, None)


def test_the_limit_is_raised_as_far_as_needed():
    one = plan(64, 1000)
    assert 4000 <= one.raise_to <= 4096
    assert one.num_processes == 64
    assert one.choice == f"limit raised from 1,024 to {one.raise_to:,}"
    assert plan(0, 2000, hard=None).raise_to == 4096, "beyond 1,024 open shards nothing gets faster"


def test_what_cannot_be_raised_is_made_do_with():
    one = plan(64, 0, soft=256, hard=256)
    assert one.raise_to is None
    assert 16 <= one.num_processes < 31
    assert one.choice == f"{one.num_processes} of 64 worker processes"
    one = plan(0, 300, soft=64, hard=64)
    assert one.choice == "16 files at a time instead of 300"


def test_it_is_raised_and_made_do_with():
    one = plan(64, 300, soft=64, hard=256)
    assert one.raise_to == 256
    assert one.num_processes == (256 - 20 - 2 * 64 - 32 - 16) // OF_A_WORKER
    workers = f"{one.num_processes} of 64 worker processes"
    assert one.choice == f"limit raised from 64 to 256, {workers}, 64 files at a time instead of 300"


def test_not_even_one_worker():
    with pytest.raises(OpenFilesError, match="ulimit -n") as caught:
        plan(2, 0, soft=64, hard=64, num_open=40)
    assert "40 of which are open already" in str(caught.value)
    assert "a limit of 73 or more: 8 for each worker" in str(caught.value)


@pytest.mark.parametrize("num_files", [0, 1, 7, 300])
@pytest.mark.parametrize("fewest", [1, 3])
@pytest.mark.parametrize("num_open", [3, 40, 200])
def test_the_limit_that_would_be_accepted_is_the_lowest_that_is(num_files, fewest, num_open):
    limit = least_limit(fewest, num_files, num_open)
    facts = {"fewest_processes": fewest, "num_open": num_open}
    assert plan(fewest, num_files, soft=limit, hard=limit, **facts).num_processes == fewest
    with pytest.raises(OpenFilesError, match=rf"a limit of {limit} or more"):
        plan(fewest, num_files, soft=limit - 1, hard=limit - 1, **facts)


@pytest.mark.parametrize("limit", range(64, 600, 37))
def test_what_is_planned_fits(limit):
    one = plan(64, 0, soft=limit, hard=limit)
    assert 20 + min(32, limit // 8) + 16 + OF_A_WORKER * one.num_processes <= limit
    assert one.num_processes > 0
