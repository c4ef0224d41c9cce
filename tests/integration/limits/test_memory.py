"""A control group of 1 GB: told before the start, or at the batch that is too large, or it runs; nothing is killed."""

import pytest

from tests.integration.limits.limited import memory_group, num_killed, output_of, run_limited

GIB = 1 << 30

HEAD = """
import sys, warnings
import numpy as np
import torch
import headrace as hr
from headrace.errors import MemoryBudgetError
MIB = 1 << 20
class Arrays(torch.utils.data.Dataset):
    '''Arrays of so many MiB, sample by sample; all of their memory is written to.'''
    def __init__(self, sizes):
        self.sizes = sizes
    def __len__(self):
        return len(self.sizes)
    def __getitem__(self, index):
        return np.full(self.sizes[index] * MIB, index % 250, np.uint8)
def run(sizes, **options):
    loader = hr.DataLoader(Arrays(sizes), **options)
    try:
        seen = []
        for batch in loader:
            seen += batch[:, -1].tolist()
        return seen
    finally:
        loader.close()
def refused(*arguments, **options):
    try:
        run(*arguments, **options)
    except MemoryBudgetError as error:
        print(error)
        return
    raise AssertionError("it ran")
"""


def in_one_gigabyte(script):
    with memory_group(GIB) as group:
        output = output_of(run_limited(HEAD + script, group=group))
        assert num_killed(group) == 0, output
        return output


def test_sixty_four_workers_and_a_budget_beyond_all_memory():
    output = in_one_gigabyte("""
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    seen = run([1] * 240, batch_size=8, engine="processes", num_workers=64, memory_budget="8GiB")
assert seen == list(range(240)), seen
print(*(warning.message for warning in caught), sep="\\n")
""")
    assert "num_workers is reduced to 1: 64, as asked, do not fit: the control group has" in output
    assert "memory_budget='8GiB' is reduced to" in output


@pytest.mark.parametrize("engine", ["num_workers=0", "num_workers=2", 'num_workers=2, engine="processes"'])
def test_a_batch_far_too_large(engine):
    output = in_one_gigabyte(f"refused([8] * 256, batch_size=256, {engine})")
    assert "8 MiB" in output
    assert "the control group" in output


@pytest.mark.parametrize("engine", ["num_workers=0", "num_workers=2", 'num_workers=1, engine="processes"'])
def test_single_samples_of_three_hundred_megabytes(engine):
    output = in_one_gigabyte(f"refused([300] * 6, batch_size=1, {engine})")
    assert "300 MiB" in output


@pytest.mark.parametrize(
    "engine", ["num_workers=2", 'num_workers=2, engine="threads"', 'num_workers=1, engine="processes"']
)
def test_arrays_of_eight_megabytes_in_batches_that_fit(engine):
    in_one_gigabyte(f"assert run([8] * 60, batch_size=2, {engine}, memory_budget='4GiB') == list(range(60))")


@pytest.mark.parametrize(
    "engine",
    [
        "num_workers=0",
        'num_workers=4, engine="threads", prefetch_factor=4',
        'num_workers=1, engine="processes", prefetch_factor=4',
    ],
)
def test_later_batches_much_larger_than_the_first(engine):
    in_one_gigabyte(f"refused([1] * 32 + [120] * 32, batch_size=8, {engine})")
