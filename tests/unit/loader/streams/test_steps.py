"""Whose turn it is, however far ahead of the consumer the steps are pulled."""

from __future__ import annotations

from collections import deque
from itertools import islice

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.datasets.plan import DecodeOptions
from headrace.engine import SHARED_SLOTS, Stats
from headrace.errors import OptionError, OrderError
from headrace.loader.made import BatchSizes
from headrace.loader.options import LoaderOptions
from headrace.loader.place import Place
from headrace.loader.streams.lengths import Lengths
from headrace.loader.streams.plan import StreamPlan
from headrace.loader.streams.sources import DatasetHere
from headrace.loader.streams.steps import StreamSteps
from headrace.loader.streams.work import StreamWork
from headrace.order import StreamPlace
from tests.streams import Resumable, Sized, Unsized, batches_of, in_turns, parts_of


def plan_of(num_streams, batch_size=2, **options):
    facts = {"rank": 0, "world_size": 1, "tail": "keep", "drop_last": False, "seed": 0} | options
    return StreamPlan(
        num_streams=num_streams, reason="", engine="threads", why_engine="", splits=True, batch_size=batch_size, **facts
    )


def steps_of(dataset, plan):
    return StreamSteps(plan, Lengths(dataset, plan), "name")


def work_of(dataset, plan):
    options = LoaderOptions(batch_size=plan.batch_size, collate_fn=list, decode=DecodeOptions())
    return StreamWork(DatasetHere(dataset, plan), plan, options, Stats(), BatchSizes(), pins=False)


def delivered(iteration, work, ahead):
    """The batches, where `ahead` steps are made before the consumer takes the first of them."""
    made = deque()
    while True:
        for step in islice(iteration, max(0, ahead - len(made))):
            made.append((step, work.run(step, None, SHARED_SLOTS.allocate)))
        if not made:
            return
        step, read = made.popleft()
        iteration.ledger.book(step.task, read)
        if read.made is not None:
            yield step, read


@given(
    num=st.integers(0, 19),
    num_streams=st.integers(1, 4),
    batch_size=st.integers(1, 4),
    ahead=st.integers(1, 9),
    kind=st.sampled_from([Unsized, Resumable]),
    cut=st.integers(0, 8),
)
@settings(max_examples=150, deadline=None)
def test_the_order_does_not_depend_on_how_far_steps_are_pulled_ahead(num, num_streams, batch_size, ahead, kind, cut):
    samples, plan = list(range(num)), plan_of(num_streams, batch_size)
    expected = in_turns(parts_of(samples, num_streams), batch_size)
    steps = steps_of(kind(samples), plan)
    taken = list(islice(delivered(steps.steps(Place()), work_of(kind(samples), plan), ahead), cut))
    assert [read.made.batch for _, read in taken] == expected[:cut]
    place = Place(batches=len(taken))
    restored, found = steps_of(kind(samples), plan).restore(steps.state(place))
    assert found == place
    rest = delivered(restored.steps(place), work_of(kind(samples), plan), ahead)
    rest = list(rest)
    assert [read.made.batch for _, read in rest] == expected[cut:]
    whole = delivered(steps_of(kind(samples), plan).steps(Place()), work_of(kind(samples), plan), 1)
    assert [step.index for step, _ in taken + rest] == [step.index for step, _ in whole], "draws go by it"


def test_steps_name_their_worker_and_the_samples_of_their_stream():
    plan = plan_of(2)
    found = delivered(
        steps_of(Unsized(list(range(7))), plan).steps(Place(epoch=3)), work_of(Unsized(list(range(7))), plan), 1
    )
    told = [(step.worker, step.ids.tolist(), step.epoch, step.index) for step, _ in found]
    assert told == [(0, [0, 1], 3, 0), (1, [0, 1], 3, 1), (0, [2, 3], 3, 2), (1, [2, 3], 3, 3)]


@given(num=st.integers(2, 23), num_streams=st.integers(1, 3), ahead=st.integers(1, 7), cut=st.integers(0, 6))
@settings(max_examples=100, deadline=None)
def test_ranks_pad_to_equal_steps_from_any_place(num, num_streams, ahead, cut):
    samples = list(range(num))
    dataset = Sized(samples)
    lengths = []
    for rank in range(2):
        plan = plan_of(num_streams, rank=rank, world_size=2, tail="pad")
        steps = steps_of(dataset, plan)
        begun = list(islice(delivered(steps.steps(Place()), work_of(dataset, plan), ahead), cut))
        place = Place(batches=len(begun))
        restored, _ = steps_of(dataset, plan).restore(steps.state(place))
        found = begun + list(delivered(restored.steps(place), work_of(dataset, plan), ahead))
        parts = [parts_of(samples, 2 * num_streams)[plan.part(stream)] for stream in range(num_streams)]
        expected = in_turns(parts, 2)
        assert [read.made.batch for _, read in found][: len(expected)] == expected
        assert [read.made.valid.all() for _, read in found] == [place < len(expected) for place in range(len(found))]
        repeated = [read.made.batch for _, read in found][len(expected) :]
        assert all(batch in batches_of(parts[0], 2, drop_last=False) for batch in repeated)
        lengths.append(len(found))
    assert lengths[0] == lengths[1] == steps.num_steps(0)


def test_states_hold_what_json_can_and_say_what_it_cannot():
    class Odd(Resumable):
        def state_dict(self):
            return {"position": {1, 2}}

    plan = plan_of(1)
    steps = steps_of(Odd([1, 2, 3]), plan)
    next(delivered(steps.steps(Place()), work_of(Odd([1, 2, 3]), plan), 1))
    with pytest.raises(OrderError, match=r"state_dict\(\) of the dataset gives something that JSON cannot hold.*set"):
        steps.state(Place(batches=1))


def test_a_dataset_that_has_become_shorter_is_found_out():
    plan = plan_of(1)
    steps = steps_of(Unsized(list(range(9))), plan)
    list(islice(delivered(steps.steps(Place()), work_of(Unsized(list(range(9))), plan), 1), 3))
    restored, place = steps_of(Unsized([0, 1, 2]), plan).restore(steps.state(Place(batches=3)))
    with pytest.raises(OrderError, match=r"ends before the place.*got 3 samples in stream 0 of Unsized.*6 samples"):
        next(delivered(restored.steps(place), work_of(Unsized([0, 1, 2]), plan), 1))


def test_what_needs_to_know_the_samples_is_refused():
    steps = steps_of(Unsized([1]), plan_of(1))
    with pytest.raises(OptionError, match="set_batch_size"):
        steps.resized(Place(), 3)
    assert steps.state(Place(epoch=4))["streams"] == []
    assert StreamPlace().samples == 0
