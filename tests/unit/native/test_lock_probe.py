"""A look at how long others hold Python's lock."""

from __future__ import annotations

import threading
import time

import pytest

from headrace._native import LockProbe

TICK_S = 1e-4


@pytest.fixture
def probe():
    one = LockProbe()
    thread = threading.Thread(target=one.run, args=(TICK_S,))
    thread.start()
    yield one
    one.stop()
    thread.join()


def test_it_tells_what_has_come_since_it_was_last_asked(probe):
    time.sleep(0.05)
    num_asked, num_waited, slept_s, waited_s = probe.taken()
    assert 0 <= num_waited <= num_asked
    assert num_asked > 0
    assert slept_s > 0
    assert waited_s >= 0
    assert probe.taken()[0] < num_asked


def test_a_wait_that_goes_on_counts_too(probe):
    """Sorting is one call that does not give the lock up: the probe waits all the while."""
    numbers = list(range(400_000, 0, -1)) + list(range(400_000))
    time.sleep(0.01)
    probe.taken()
    numbers.sort()
    _, num_waited, _, waited_s = probe.taken()
    assert num_waited >= 1
    assert waited_s > 0


@pytest.mark.parametrize("tick_s", [0, -1, float("nan")])
def test_ticks_that_none_can_be_are_refused(tick_s):
    with pytest.raises(ValueError, match="a tick takes more than 0 s"):
        LockProbe().run(tick_s)


def test_a_probe_that_was_stopped_before_it_ran_returns():
    one = LockProbe()
    one.stop()
    one.run(TICK_S)
    assert one.taken() == (0, 0, 0.0, 0.0)
