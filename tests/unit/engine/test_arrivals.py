import random
import threading

import numpy as np

from headrace.contracts import Step
from headrace.engine import Stats
from headrace.engine.arrivals import Arrivals
from headrace.engine.passage import Ending, Passage, StepMemory
from headrace.engine.slots import SlotPool


def test_any_order_becomes_the_right_order():
    arrivals = Arrivals()
    positions = list(range(100))
    random.Random(0).shuffle(positions)
    for position in positions:
        arrivals.put(Ending(position))
    assert arrivals.num_waiting() == 100
    assert [arrivals.take().position for _ in range(100)] == list(range(100))
    assert arrivals.num_waiting() == 0


def test_a_taker_is_woken():
    arrivals = Arrivals()
    arrivals.put(Ending(1))
    threading.Timer(0.02, arrivals.wake).start()
    assert arrivals.take() is None
    arrivals.put(Ending(0))
    assert [arrivals.take().position for _ in range(2)] == [0, 1]


def test_clearing_drops_all_and_wakes():
    arrivals = Arrivals()
    arrivals.put(Ending(1))
    threading.Timer(0.02, arrivals.clear).start()
    assert arrivals.take() is None
    assert arrivals.num_waiting() == 0


def test_a_wait_with_a_time_limit_goes_on_until_something_arrives(monkeypatch):
    """As on macOS, where a wait without one cannot be interrupted."""
    monkeypatch.setattr("headrace.engine.arrivals.INTERRUPT_POLL_S", 0.005)
    arrivals = Arrivals()
    threading.Timer(0.03, arrivals.put, (Ending(0),)).start()
    assert arrivals.take().position == 0


def passage(position):
    step = Step(index=position, epoch=0, ids=np.arange(1), valid=np.ones(1, dtype=bool))
    return Passage(position, step, StepMemory(SlotPool(), Stats()), 0)


def test_ready_is_what_can_be_taken_without_a_wait():
    arrivals = Arrivals()
    assert arrivals.num_ready() == 0
    for position in (1, 3, 2):
        arrivals.put(passage(position))
    assert arrivals.num_ready() == 0  # the first one is missing: the taker has to wait
    arrivals.put(passage(0))
    arrivals.put(Ending(4))
    assert arrivals.num_ready() == 4  # the end is no batch
    arrivals.wake()
    assert arrivals.num_ready() == 4
    assert [arrivals.take().position for _ in range(4)] == [0, 1, 2, 3]
    assert arrivals.num_ready() == 0


def test_looking_takes_no_wake_up_away():
    arrivals = Arrivals()
    arrivals.wake()
    assert arrivals.num_ready() == 0
    assert arrivals.take() is None
