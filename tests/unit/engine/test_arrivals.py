import random
import threading

from headrace.engine.arrivals import Arrivals
from headrace.engine.passage import Ending


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
