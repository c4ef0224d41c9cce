import gc
import threading

import pytest

from headrace.engine import Pauses, Stats
from headrace.engine.pauses import PauseSum


def test_each_collection_is_told_while_it_is_watched():
    before, told = list(gc.callbacks), []
    with Pauses(told.append):
        gc.collect()
        gc.collect(0)
    gc.collect()
    assert len(told) == 2
    assert all(0 < pause_s < 60 for pause_s in told)
    assert gc.callbacks == before


def test_two_watch_side_by_side_and_end_in_any_order():
    before, first, second = list(gc.callbacks), [], []
    one, other = Pauses(first.append), Pauses(second.append)
    one.__enter__()
    gc.collect()
    other.__enter__()
    gc.collect()
    one.__exit__(None, None, None)
    gc.collect()
    other.__exit__(None, None, None)
    assert (len(first), len(second)) == (2, 2)
    assert gc.callbacks == before


def test_code_of_the_user_may_clear_the_list():
    kept = list(gc.callbacks)
    with Pauses(lambda _: None):
        gc.callbacks.clear()
    gc.callbacks[:] = kept


def test_errors_leave_nothing_behind():
    before = list(gc.callbacks)
    with pytest.raises(KeyError), Pauses(lambda _: None):
        raise KeyError
    assert gc.callbacks == before


def test_sums_are_taken_once():
    pauses = PauseSum()
    pauses.add(0.25)
    pauses.add(0.5)
    assert pauses.taken() == (2, 0.75)
    assert pauses.taken() == (0, 0.0)


class TestStats:
    def test_a_collection_under_the_lock_does_not_wait_for_it(self):
        stats = Stats()

        def collect():
            with Pauses(stats.pause), stats.lock:
                gc.collect()

        thread = threading.Thread(target=collect, daemon=True)
        thread.start()
        thread.join(30)
        assert not thread.is_alive()
        assert stats.snapshot("total").stages["gc"].items == 1

    def test_pauses_belong_to_the_epoch_in_which_they_were(self):
        stats = Stats()
        stats.pause(0.5)
        stats.begin_epoch()
        assert "gc" not in stats.snapshot("epoch").stages
        stats.pause(0.25)
        stats.pause(0.125)
        epoch, total = stats.snapshot("epoch").stages["gc"], stats.snapshot("total").stages["gc"]
        assert (epoch.items, epoch.busy.total_s, epoch.busy.max_s) == (2, 0.375, 0.25)
        assert (total.items, total.busy.total_s) == (3, 0.875)
