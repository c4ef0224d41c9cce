"""A memory budget in which nothing has room is refused."""

import pytest

import headrace as hr
from headrace.errors import OptionError


@pytest.mark.parametrize("budget", [0, 1, 8, "0", "1KiB", (1 << 20) - 1])
def test_budgets_that_hold_no_batch_are_refused(budget):
    with pytest.raises(OptionError, match=r"memory_budget.*accepted.*auto.*1048576 bytes"):
        hr.DataLoader(list(range(4)), 2, memory_budget=budget)


@pytest.mark.parametrize("budget", ["auto", 1 << 20, "1MiB", "8GiB"])
def test_others_are_accepted(budget):
    loader = hr.DataLoader(list(range(4)), 2, num_workers=0, memory_budget=budget)
    assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3]]
