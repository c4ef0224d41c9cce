"""Limits of a process (`ulimit`) that leave no room for threads, processes or shared memory: each is named."""

import os

import pytest

from tests.integration.limits.limited import output_of, run_limited

PRELUDE = """
import os, resource, sys
from contextlib import closing
import numpy as np
import psutil
from torch.utils.data import Dataset
import headrace as hr
from headrace.errors import HeadraceError

class Waves(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        return np.full(300_000, index, np.float32)

def batches(engine):
    with closing(hr.DataLoader(Waves(), 16, engine=engine, num_workers=2)) as loader:
        return sum(int(batch[:, 0].sum()) for batch in loader)

def limit(which, value):
    resource.setrlimit(which, (value, resource.getrlimit(which)[1]))

def told(engine):
    try:
        return f"made {batches(engine)}"
    except HeadraceError as error:
        return f"{type(error).__name__}: {error}"

assert batches("threads") == sum(range(64))
before = {thread.id for thread in psutil.Process().threads()}
engine, value = sys.argv[1], int(sys.argv[2])
"""
AFTERWARDS = """
print(told(engine))
assert not psutil.Process().children(), "a process is left"
limit(which, resource.getrlimit(which)[1])
print(told(engine))
"""


def told(setting, engine, value):
    """What is said under a limit, which is lifted afterwards: then all is as if nothing had been."""
    lines = output_of(run_limited(PRELUDE + setting + AFTERWARDS, engine, value)).splitlines()
    assert lines[1] == "made 2016"
    return lines[0]


OF_ADDRESS_SPACE = """
which = resource.RLIMIT_AS
limit(which, psutil.Process().memory_info().vms + value)
"""


@pytest.mark.parametrize("engine", ["threads", "processes"])
@pytest.mark.parametrize("left_bytes", [2 << 20, 20 << 20])
def test_address_space(engine, left_bytes):
    said = told(OF_ADDRESS_SPACE, engine, left_bytes)
    assert "ulimit -v, now" in said
    assert "ulimit -u" not in said
    assert "ulimit -n" not in said


def test_size_of_files():
    said = told("which = resource.RLIMIT_FSIZE\nlimit(which, value)\n", "processes", 1 << 20)
    assert said.startswith("MemoryBudgetError: the system gives no memory for what the trainer and its workers share")
    assert "ulimit -f, now 1 MiB" in said


def test_size_of_files_does_not_matter_to_threads():
    assert told("which = resource.RLIMIT_FSIZE\nlimit(which, value)\n", "threads", 1 << 20) == "made 2016"


OF_TASKS = """
which = resource.RLIMIT_NPROC
os.setresuid(54321, 54321, 0)  # the superuser may have as many as he likes
limit(which, value)
"""
LIFTED = AFTERWARDS.replace("limit(which, res", "os.setresuid(0, 0, 0); limit(which, res")


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can become a user who has no other process")
@pytest.mark.parametrize("engine", ["threads", "processes"])
def test_number_of_processes(engine):
    lines = output_of(run_limited(PRELUDE + OF_TASKS + LIFTED, engine, 1)).splitlines()
    assert "ulimit -u, now 1;" in lines[0]
    assert "ulimit -v" not in lines[0]
    assert "ulimit -n" not in lines[0]
    assert lines[1] == "made 2016"
