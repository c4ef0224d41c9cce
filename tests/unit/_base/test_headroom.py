import psutil
import pytest

from headrace._base.cgroups import ControlGroups, Group
from headrace._base.headroom import ASK_EVERY_BYTES, KEPT_FREE_BYTES, MemoryGuard, read_headroom
from headrace.errors import MemoryBudgetError

MIB = 1 << 20


@pytest.fixture
def group(tmp_path):
    """A control group whose files the test writes."""

    def write(limit, current):
        (tmp_path / "memory.max").write_text(str(limit))
        (tmp_path / "memory.current").write_text(str(current))
        return ControlGroups(memory=(Group(version=2, path=tmp_path),))

    return write


def test_the_tighter_of_machine_and_group_limits(group):
    assert read_headroom(ControlGroups()).limiter == "the machine"
    there = read_headroom(group(100 * MIB, 30 * MIB))
    assert (there.size_bytes, there.limiter) == (70 * MIB, "the control group")
    assert read_headroom(group(1 << 60, 0)).limiter == "the machine"


def test_memory_that_is_not_there_is_refused_before_it_is_taken(group):
    guard = MemoryGuard()
    guard.groups = group(200 * MIB, 100 * MIB)
    guard.check(100 * MIB - KEPT_FREE_BYTES, "a batch")
    with pytest.raises(MemoryBudgetError, match="a batch needs more memory than there is; got 90 MiB") as caught:
        guard.check(90 * MIB, "a batch")
    assert "84 MiB, what the control group has left" in str(caught.value)


def test_small_pieces_are_looked_at_together(group):
    guard = MemoryGuard()
    guard.groups = group(20 * MIB, 20 * MIB)
    piece = ASK_EVERY_BYTES // 4
    for _ in range(3):
        guard.take(piece, "a batch")
    with pytest.raises(MemoryBudgetError):
        guard.take(piece, "a batch")
    guard.take(piece, "a batch")


def test_a_fresh_guard_asks_the_real_system():
    with pytest.raises(MemoryBudgetError, match=r"the (machine|control group) has left"):
        MemoryGuard().check(2 * psutil.virtual_memory().total, "a test")
    MemoryGuard().check(MIB, "a test")
