import contextlib
import threading

import pytest

from headrace.engine import InlineEngine, SlotPool, Stats
from headrace.errors import LoaderClosedError
from headrace.testing.engine_contract import numbers
from headrace.testing.step_works import NumberWork, StepSource


def make(work, **options):
    return InlineEngine(work, **({"slots": SlotPool(), "recorder": Stats()} | options))


def test_everything_happens_in_the_thread_that_asks():
    seen = []

    class Watched(NumberWork):
        def fetch(self, step, allocate):
            seen.append(threading.current_thread())
            return super().fetch(step, allocate)

        def run(self, step, fetched, allocate):
            seen.append(threading.current_thread())
            return super().run(step, fetched, allocate)

    assert numbers(make(Watched()).run(StepSource(3))) == [0, 1, 2]
    assert seen == [threading.current_thread()] * 6


def test_nothing_is_made_ahead():
    steps = StepSource(10)
    stream = make(NumberWork()).run(steps)
    assert steps.num_pulled == 0
    next(stream)
    assert steps.num_pulled == 1


def test_stages_are_measured():
    stats = Stats()
    numbers(make(NumberWork(), recorder=stats).run(StepSource(5)))
    stages = stats.snapshot().stages
    assert {name: stage.busy.num for name, stage in stages.items()} == {"order": 5, "fetch": 5, "run": 5, "deliver": 5}
    assert stages["deliver"].waiting.num == 5
    assert stages["deliver"].items == 20
    assert stages["run"].size_bytes == 5 * 32768
    assert stats.snapshot().counts == {"fresh_slots": 3}  # a row, and two batches: one is held while the next is made


@pytest.mark.parametrize("fail_run", [None, 1])
def test_resources_are_left_at_the_end_and_after_an_error(fail_run):
    held = []

    @contextlib.contextmanager
    def resources():
        held.append("entered")
        yield
        held.append("left")

    with contextlib.suppress(ValueError):
        list(make(NumberWork(fail_run=fail_run), resources=resources).run(StepSource(3)))
    assert held == ["entered", "left"]


def test_ctrl_c_inside_a_step_closes_the_run():
    def interrupt():
        raise KeyboardInterrupt

    class Interrupted(NumberWork):
        def run(self, step, fetched, allocate):
            interrupt()

    stream = make(Interrupted()).run(StepSource(3))
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    with pytest.raises(LoaderClosedError):
        next(stream)
