"""Loaders begun, read, closed, dropped and broken in any order: the order of delivery and the books are right."""

import gc
import itertools

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from headrace.engine import ByteBudget, SlotPool, Stats, ThreadEngine
from headrace.errors import LoaderClosedError
from headrace.testing.engine_contract import expect_soon
from headrace.testing.step_works import STEP_BYTES, NumberWork, StepSource

NAPS_S = ((0.0,), (0.0, 0.002, 0.0, 0.0, 0.001))


class Loaders(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.budget = ByteBudget(6 * STEP_BYTES)
        self.slots = SlotPool()
        self.running = []

    @rule(
        naps_s=st.sampled_from(NAPS_S),
        num_steps=st.integers(0, 30),
        fail_run=st.none() | st.integers(0, 40),
        threads=st.tuples(st.integers(1, 3), st.integers(1, 3)),
        max_in_flight=st.none() | st.integers(1, 4),
        prompt=st.lists(st.booleans(), min_size=1, max_size=5),
    )
    def begin(self, naps_s, num_steps, fail_run, threads, max_in_flight, prompt):
        engine = ThreadEngine(
            NumberWork(naps_s=naps_s, fail_run=fail_run),
            num_workers=threads[0],
            num_io_threads=threads[1],
            budget=self.budget,
            slots=self.slots,
            recorder=Stats(),
            max_in_flight=max_in_flight,
            is_prompt=itertools.cycle(prompt).__next__,
        )
        stop = num_steps if fail_run is None else min(num_steps, fail_run)
        self.running.append([engine.run(StepSource(num_steps)), 0, stop, fail_run is not None and fail_run < num_steps])

    @rule(which=st.integers(0, 100), num=st.integers(1, 12))
    def take(self, which, num):
        if not self.running:
            return
        entry = self.running[which % len(self.running)]
        stream, _, stop, fails = entry
        for _ in range(num):
            if entry[1] < stop:
                delivered = next(stream)
                assert delivered.step.index == entry[1]
                assert (delivered.batch == entry[1]).all()
                entry[1] += 1
            else:
                self.running.remove(entry)
                with pytest.raises(ValueError if fails else StopIteration):
                    next(stream)
                break

    @rule(which=st.integers(0, 100))
    def close(self, which):
        if self.running:
            stream = self.running.pop(which % len(self.running))[0]
            stream.close()
            with pytest.raises(LoaderClosedError):
                next(stream)

    @rule(which=st.integers(0, 100))
    def drop(self, which):
        if self.running:
            del self.running[which % len(self.running)]

    @invariant()
    def books_are_right(self):
        overdrawn = len(self.running) * STEP_BYTES  # each loader may have one step whatever the budget
        assert self.budget.used_bytes <= self.budget.limit_bytes + overdrawn

    def teardown(self):
        self.running.clear()
        gc.collect()
        expect_soon(lambda: self.budget.used_bytes == 0 and not self.budget.accounts, "the budget is not given back")


TestLoaders = Loaders.TestCase
TestLoaders.settings = settings(max_examples=25, stateful_step_count=25, deadline=None)
