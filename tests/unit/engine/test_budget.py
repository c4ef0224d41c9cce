import os

import pytest

from headrace.engine.budget import ByteBudget
from headrace.errors import OptionError


class Loader:
    """An account, and how often it was told of room."""

    def __init__(self, budget, limit_bytes=None):
        self.num_granted = 0
        self.account = budget.open(self.granted, limit_bytes=limit_bytes)

    def granted(self):
        self.num_granted += 1


def test_one_loader_fills_three_quarters():
    loader = Loader(ByteBudget(100))
    assert [loader.account.admit(10) for _ in range(7)] == [True] * 7
    assert not loader.account.admit(10)


def test_a_loader_that_starts_later_finds_room_while_the_first_stands_still():
    budget = ByteBudget(100)
    first, second = Loader(budget), Loader(budget)
    while first.account.admit(10):
        pass
    assert [second.account.admit(10) for _ in range(4)] == [True, True, True, False]
    assert budget.used_bytes <= 100


def test_every_loader_gets_one_step_however_large():
    budget = ByteBudget(10)
    assert all(Loader(budget).account.admit(1000) for _ in range(3))


def test_a_step_that_waits_is_admitted_when_bytes_come_back():
    loader = Loader(ByteBudget(100))
    for _ in range(2):
        assert loader.account.admit(35)
    assert not loader.account.admit(35)
    loader.account.give(35)
    assert loader.num_granted == 1
    assert loader.account.held_bytes == 70


def test_the_last_step_of_a_loader_that_waits_behind_a_large_one_is_served():
    """It would wait for ever: the large step may wait for a loader that nobody is iterating any more."""
    budget = ByteBudget(100)
    idle, large, small = Loader(budget), Loader(budget), Loader(budget)
    assert idle.account.admit(70)
    assert large.account.admit(5)
    assert small.account.admit(5)
    assert not large.account.admit(40)
    assert not small.account.admit(15)
    small.account.give(5)
    assert (large.num_granted, small.num_granted) == (0, 1)


def test_small_steps_do_not_starve_a_large_one():
    budget = ByteBudget(100)
    small, large = Loader(budget), Loader(budget)
    assert large.account.admit(1)
    for _ in range(7):
        assert small.account.admit(10)
    assert not large.account.admit(45)
    for _ in range(7):
        small.account.give(10)
        small.account.admit(10) if large.num_granted else None
    assert large.num_granted == 1


def test_an_own_limit_is_kept():
    loader = Loader(ByteBudget(100), limit_bytes=20)
    assert [loader.account.admit(10) for _ in range(3)] == [True, True, False]


def test_close_gives_everything_back_and_serves_others():
    budget = ByteBudget(100)
    first, second = Loader(budget), Loader(budget)
    assert first.account.admit(60)
    assert second.account.admit(10)
    assert not second.account.admit(35)
    first.account.close()
    first.account.close()
    assert second.num_granted == 1
    assert budget.used_bytes == 45


def test_an_account_that_closes_while_it_waits_is_not_told():
    budget = ByteBudget(100)
    first, second = Loader(budget), Loader(budget)
    assert first.account.admit(60)
    assert second.account.admit(10)
    assert not second.account.admit(35)
    second.account.close()
    first.account.close()
    assert second.num_granted == 0
    assert budget.used_bytes == 0


def test_corrected_estimates_count():
    budget = ByteBudget(100)
    loader = Loader(budget)
    assert loader.account.admit(10)
    loader.account.correct(10, 70)
    assert not loader.account.admit(10)
    assert budget.peak_bytes == 70


def test_the_limit_is_the_largest_of_those_that_iterate():
    budget = ByteBudget(1)
    small = Loader(budget, limit_bytes=100)
    assert budget.limit_bytes == 100
    large = Loader(budget, limit_bytes=300)
    assert budget.limit_bytes == 300
    assert [small.account.admit(50) for _ in range(3)] == [True, True, False]
    large.account.close()
    assert budget.limit_bytes == 100
    small.account.close()
    assert budget.limit_bytes == 1


def test_a_limit_without_room_is_refused():
    with pytest.raises(OptionError, match="1 byte or more"):
        ByteBudget(0)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_child_starts_with_an_empty_budget():
    budget = ByteBudget(100)
    Loader(budget).account.admit(70)
    with budget.lock:
        child = os.fork()
        if child == 0:
            loader = Loader(budget)
            os._exit(0 if all(loader.account.admit(35) for _ in range(2)) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
