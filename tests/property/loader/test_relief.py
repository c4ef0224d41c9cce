"""Any sequence of calls on a loader whose makers are relieved at any moment, held against the model of the others.

Other threads stand in the place of the processes: what is done with them is the same, but for their start.
"""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import initialize, rule

from headrace.loader import running, staff
from headrace.loader.engine_choice import EngineChoice, Later
from headrace.loader.makers import Makers
from headrace.loader.workers import decide_workers
from tests.property.loader.test_any_sequence_of_calls import Calls, loader_of

FIRST = ("caller", "threads")


def workers_of(count):
    return decide_workers(count, num_cpus=2, local_world_size=1, prefetch_factor=None)


class RelievedCalls(Calls):
    """The same model: who makes the batches bears on nothing that a caller can see."""

    @initialize(
        num=st.integers(0, 17),
        shuffle=st.sampled_from([False, True, "window"]),
        batch_size=st.integers(1, 6),
        first=st.sampled_from(FIRST),
        persistent_workers=st.booleans(),
    )
    def make(self, num, shuffle, batch_size, first, persistent_workers):
        self.patch = pytest.MonkeyPatch()
        self.are_there = False
        later = EngineChoice(kind="processes", reason="a test says so", workers=workers_of(2))
        choice = EngineChoice(
            kind=first,
            reason="a test says so",
            workers=workers_of(0 if first == "caller" else 1),
            later=Later(choice=later, held_s=1e6, num_samples=num),
        )
        decide = staff.decide_engine
        self.patch.setattr(staff, "decide_engine", lambda of: choice if of.workers.is_automatic else decide(of))
        self.patch.setattr(staff, "settled", lambda choice, _: choice)
        self.patch.setattr(running, "make_processes", running.make_threads)
        self.patch.setattr(Makers, "are_ready", lambda _: self.are_there)
        self.num, self.shuffle, self.batch_size = num, shuffle, batch_size
        self.loader = loader_of(num, shuffle, batch_size, "auto", persistent_workers)
        self.iterator = self.finished = None
        self.place = self.upcoming = (0, 0)
        self.is_over = self.is_chosen = False
        self.states = []

    def teardown(self):
        super().teardown()
        if hasattr(self, "patch"):
            self.patch.undo()

    @rule(are_there=st.booleans())
    def arrive(self, are_there):
        self.are_there = are_there


RelievedCalls.TestCase.settings = settings(max_examples=60, stateful_step_count=40)


@pytest.mark.usefixtures("machine_read_once")
class TestRelievedCalls(RelievedCalls.TestCase):
    """Runs them."""


@pytest.mark.usefixtures("machine_read_once")
@pytest.mark.parametrize("persistent_workers", [False, True])
@pytest.mark.parametrize("first", FIRST)
@pytest.mark.parametrize("border", range(14))
def test_the_batches_are_the_same_wherever_makers_are_relieved(border, first, persistent_workers):
    """Two epochs of five batches: each begin, each batch, each end."""
    calls = RelievedCalls()
    calls.make(num=10, shuffle=True, batch_size=2, first=first, persistent_workers=persistent_workers)
    try:
        calls.begin()
        calls.go_on(6)
        passed = []

        def are_ready(makers):
            passed.append(makers)
            return len(passed) > border

        calls.patch.setattr(Makers, "are_ready", are_ready)
        for _ in range(3):
            calls.begin()
            calls.go_on(6)
            calls.tells_where_it_stands()
        assert len(passed) == border + 1, "nobody asks once they are relieved"
        assert calls.loader._life.run.staff.choice.kind == "processes"
        calls.iterator = None
    finally:
        calls.teardown()
