"""Any sequence of calls on a loader, held against a model that counts samples."""

from __future__ import annotations

import copy
import functools
import json
import pickle

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import headrace as hr
from headrace.errors import LoaderClosedError, OptionError

SEED = 9


def loader_of(num, shuffle, batch_size, num_workers=0, persistent_workers=False):
    window_samples = 5 if shuffle == "window" else None
    return hr.DataLoader(
        range(num),
        batch_size,
        shuffle=shuffle,
        seed=SEED,
        num_workers=num_workers,
        persistent_workers=persistent_workers,
        window_samples=window_samples,
        on_batch_change="continue",
    )


@functools.cache
def epoch_order(num, shuffle, epoch):
    """The samples of an epoch, one by one."""
    loader = loader_of(num, shuffle, 1)
    loader.set_epoch(epoch)
    return [int(batch) for batch in loader]


class Calls(RuleBasedStateMachine):
    """The model: places are (epoch, samples delivered of it)."""

    @initialize(
        num=st.integers(0, 17),
        shuffle=st.sampled_from([False, True, "window"]),
        batch_size=st.integers(1, 6),
        workers=st.sampled_from([(0, False), (0, False), (2, False), (2, True)]),
    )
    def make(self, num, shuffle, batch_size, workers):
        self.num, self.shuffle, self.batch_size = num, shuffle, batch_size
        self.loader = loader_of(num, shuffle, batch_size, *workers)
        self.iterator = self.finished = None
        self.place = self.upcoming = (0, 0)
        self.is_over = self.is_chosen = False
        self.states = []

    def teardown(self):
        if hasattr(self, "loader"):
            self.loader.close()

    def batch_at(self, place):
        epoch, delivered = place
        return epoch_order(self.num, self.shuffle, epoch)[delivered : delivered + self.batch_size]

    @property
    def saved(self):
        return self.upcoming if self.is_over or self.is_chosen else self.place

    def stands_at(self, place):
        self.iterator, self.is_over, self.is_chosen = None, False, True
        self.place = self.upcoming = place

    @rule()
    def begin(self):
        stale, self.iterator = self.iterator, iter(self.loader)
        self.place, self.is_over, self.is_chosen = self.upcoming, False, False
        if stale is not None:
            with pytest.raises(LoaderClosedError):
                next(stale)

    @precondition(lambda self: self.iterator is not None)
    @rule(num=st.sampled_from([1, 1, 2, 3, 20]))
    def go_on(self, num):
        for _ in range(num):
            expected = self.batch_at(self.place)
            if expected:
                assert next(self.iterator).tolist() == expected
                assert self.loader.valid.tolist() == [True] * len(expected)
                self.place = (self.place[0], self.place[1] + len(expected))
            else:
                assert next(self.iterator, None) is None
                self.is_over = True
            if not self.is_chosen:
                self.upcoming = (self.place[0] + 1, 0)
        if self.is_over:
            self.iterator, self.finished = None, self.iterator

    @precondition(lambda self: self.finished is not None)
    @rule()
    def ask_again_what_has_ended(self):
        assert next(self.finished, None) is None

    @rule()
    def drop_the_iterator(self):
        self.iterator = None

    @rule()
    def close(self):
        self.iterator = None
        self.loader.close()

    @rule(epoch=st.integers(0, 3))
    def set_epoch(self, epoch):
        self.loader.set_epoch(epoch)
        if epoch != self.upcoming[0]:
            self.upcoming = (epoch, 0)
        self.is_chosen = True

    @rule(batch_size=st.integers(1, 6))
    def set_batch_size(self, batch_size):
        self.loader.set_batch_size(batch_size)
        self.batch_size = batch_size

    @rule()
    def save(self):
        self.states.append((json.dumps(self.loader.state_dict()), self.saved))

    @precondition(lambda self: self.states)
    @rule(data=st.data(), workers=st.sampled_from([None, (0, False), (2, False), (2, True)]))
    def load(self, data, workers):
        state, place = data.draw(st.sampled_from(self.states))
        live = self.iterator
        if workers is not None:
            self.loader.close()
            self.loader = loader_of(self.num, self.shuffle, self.batch_size, *workers)
        self.loader.load_state_dict(json.loads(state))
        self.stands_at(place)
        if live is not None:
            with pytest.raises(LoaderClosedError):
                next(live)

    @rule(how=st.sampled_from([copy.deepcopy, lambda loader: pickle.loads(pickle.dumps(loader))]))
    def go_on_with_a_copy(self, how):
        original, self.loader = self.loader, how(self.loader)
        original.close()
        self.stands_at(self.upcoming)

    @rule()
    def peek(self):
        expected = self.batch_at(self.upcoming)
        if expected:
            assert self.loader.peek().tolist() == expected
        else:
            with pytest.raises(OptionError):
                self.loader.peek()

    @invariant()
    def tells_where_it_stands(self):
        state = self.loader.state_dict()
        assert (state["epoch"], state["samples_delivered"]) == self.saved
        is_next = self.place[1] == 0 or (self.is_over and self.is_chosen)
        epoch, delivered = self.upcoming if is_next else self.place
        num_steps = -(-self.num // self.batch_size)
        num_left = -(-(self.num - delivered) // self.batch_size)
        loader = self.loader
        assert (loader.epoch, loader.step, loader.steps_left, len(loader)) == (
            epoch,
            num_steps - num_left,
            num_left,
            num_steps,
        )


Calls.TestCase.settings = settings(max_examples=60, stateful_step_count=30)


@pytest.mark.usefixtures("machine_read_once")
class TestCalls(Calls.TestCase):
    """Runs them."""
