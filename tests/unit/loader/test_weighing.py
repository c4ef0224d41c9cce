import numpy as np
import pytest

from headrace._base.cgroups import ControlGroups, Group
from headrace._base.headroom import MemoryGuard
from headrace.errors import MemoryBudgetError
from headrace.loader import weighing
from headrace.loader.weighing import Weighing

MIB = 1 << 20


@pytest.fixture
def guard(tmp_path):
    """Knows of 400 MiB."""
    (tmp_path / "memory.max").write_text(str(400 * MIB))
    (tmp_path / "memory.current").write_text("0")
    guard = MemoryGuard()
    guard.groups = ControlGroups(memory=(Group(version=2, path=tmp_path),))
    return guard


def test_the_first_sample_tells_what_the_batch_will_take(guard):
    Weighing(10, guard).look([np.empty(16 * MIB, np.uint8)])
    with pytest.raises(MemoryBudgetError, match="the rest of a batch of 64 samples of 16 MiB needs more") as caught:
        Weighing(64, guard).look([np.empty(16 * MIB, np.uint8)])
    assert "got 2 GiB" in str(caught.value), "63 more samples, and 64 put together"


def test_later_samples_are_weighed_when_making_them_has_taken_a_while(guard, monkeypatch):
    now = [0.5]
    monkeypatch.setattr(weighing, "perf_counter", lambda: now[0])
    one = Weighing(8, guard)
    samples = [np.empty(1, np.uint8)]
    one.look(samples)
    samples += [np.empty(100 * MIB, np.uint8)] * 2
    one.look(samples)
    assert one.num_weighed == 1
    now[0] += 1.0
    with pytest.raises(MemoryBudgetError):
        one.look(samples)


def test_samples_that_failed_weigh_nothing(guard):
    one = Weighing(3, guard)
    one.look([None])
    assert (one.num_weighed, one.size_bytes) == (1, 0)
