"""Threads that read the same stream do so one after another."""

from __future__ import annotations

import random
import threading
import time
from types import SimpleNamespace

import pytest

from headrace.errors import LoaderClosedError
from headrace.loader.streams.in_turn import InTurn
from headrace.loader.streams.turns import Turn


class Noted:
    """A work that notes what it is at, and raises at some."""

    def __init__(self, fails=()):
        self.fails = fails
        self.begun = []
        self.at_once = []
        self.lock = threading.Lock()

    def run(self, step, fetched, allocate):
        turn = step.task
        with self.lock:
            assert turn.stream not in self.at_once
            self.at_once.append(turn.stream)
            self.begun.append((turn.stream, turn.number))
        time.sleep(random.random() * 0.002)
        with self.lock:
            self.at_once.remove(turn.stream)
        if (turn.stream, turn.number) in self.fails:
            raise ValueError("as told")


def step_of(stream, number, run=0):
    return SimpleNamespace(task=Turn(run=run, stream=stream, number=number, pads=False, opening=None))


@pytest.mark.parametrize("fails", [(), [(1, 3)]])
def test_turns_of_a_stream_come_one_after_another_and_those_of_others_at_once(fails):
    work = Noted(fails)
    in_turn = InTurn(work)
    steps = iter([step_of(stream, number) for number in range(20) for stream in range(3)])
    lock, failed = threading.Lock(), []

    def take():
        while True:
            with lock:
                step = next(steps, None)
            if step is None:
                return
            try:
                in_turn.run(step, None, None)
            except ValueError:
                failed.append((step.task.stream, step.task.number))

    threads = [threading.Thread(target=take) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for stream in range(3):
        assert [number for which, number in work.begun if which == stream] == list(range(20))
    assert failed == list(fails)


def test_steps_of_an_iteration_that_is_over_are_refused():
    in_turn = InTurn(Noted())
    in_turn.run(step_of(0, 0, run=5), None, None)
    with pytest.raises(LoaderClosedError):
        in_turn.run(step_of(0, 1, run=4), None, None)
    in_turn.run(step_of(0, 0, run=6), None, None)
