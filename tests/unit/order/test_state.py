"""States are small, survive JSON, resume exactly on any topology, and are refused where they mean something else."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.contracts import Layout
from headrace.errors import OrderError
from headrace.order import EpochOrder, OrderSpec, OrderState, check_compatible, open_epoch, state_at

SHARDS = Layout(samples=np.array([13, 8, 21, 1, 0, 17]), sizes=np.array([13, 8, 21, 1, 0, 17]) * 1000)
NAME = "0123456789abcdef0123456789abcdef"


def spec_of(world_size: int, *, accumulate: int = 1, global_batch: int = 24, **options) -> OrderSpec:
    batch_size = global_batch // world_size // accumulate
    options = {"shuffle": "full", "tail": "pad", "layout": SHARDS, "seed": 5} | options
    return OrderSpec(batch_size=batch_size, world_size=world_size, accumulate=accumulate, **options)


def save(order: EpochOrder, batches: int) -> OrderState:
    text = json.dumps(state_at(order, batches, fingerprint=NAME, tail=order.spec.tail).to_dict())
    assert len(text) < 1024
    return OrderState.from_dict(json.loads(text))


def resume(spec: OrderSpec, state: OrderState) -> EpochOrder:
    check_compatible(state, state_at(open_epoch(spec, 0), 0, fingerprint=NAME, tail=spec.tail))
    return open_epoch(spec, state.epoch, state.samples_delivered)


def valid_rows(order: EpochOrder, first: int, last: int) -> list[int]:
    """Valid rows of global batches [first, last), in their order."""
    steps = [order.global_step(number) for number in range(first, last)]
    return [row for ids, valid in steps for row in ids[valid].tolist()]


@settings(max_examples=150)
@given(
    shuffle=st.sampled_from(["none", "full", "window"]),
    tail=st.sampled_from(["drop", "pad", "keep"]),
    worlds=st.lists(st.sampled_from([1, 2, 3, 4, 6, 8, 12]), min_size=1, max_size=5),
    data=st.data(),
)
def test_cut_anywhere_and_resumed_on_other_ranks(shuffle, tail, worlds, data):
    nodes = 3 if shuffle == "window" else 1
    options = {"shuffle": shuffle, "tail": tail, "canonical_nodes": nodes}
    whole = open_epoch(spec_of(1, **options), 4)
    rows, order = [], whole
    for world_size in worlds:
        steps = data.draw(st.integers(0, order.num_global_steps))
        rows += valid_rows(order, 0, steps)
        batches = min(steps * order.spec.accumulate, order.num_steps)
        order = resume(spec_of(world_size, **options), save(order, batches))
        assert order.epoch == 4
    rows += valid_rows(order, 0, order.num_global_steps)
    assert rows == valid_rows(whole, 0, whole.num_global_steps)


@pytest.mark.parametrize("tail", ["drop", "pad", "keep"])
@pytest.mark.parametrize("world_size", [1, 2])
def test_cut_between_accumulated_batches_on_the_same_ranks(tail, world_size):
    spec = spec_of(world_size, accumulate=4, tail=tail)
    whole = open_epoch(spec, 0)
    for batches in range(whole.num_steps + 1):
        state = save(whole, batches)
        rest = resume(spec, state)
        again = [rest.step(index, 0) for index in range(state.rank_batches, rest.num_steps)]
        expected = [whole.step(index, 0) for index in range(batches, whole.num_steps)]
        assert [step.ids.tolist() for step in again] == [step.ids.tolist() for step in expected]
        assert [step.valid.tolist() for step in again] == [step.valid.tolist() for step in expected]


def test_position_counts_over_any_number_of_saves():
    """Case O7: 30 batches, save, load, 10 more, save: position 40."""
    spec = OrderSpec(layout=Layout(samples=np.array([500]), sizes=np.array([0])), batch_size=2)
    order = resume(spec, save(open_epoch(spec, 0), 30))
    assert save(order, 10).samples_delivered == 80


def test_rest_of_an_epoch_then_whole_ones():
    """Case O6: 128 rows in batches of 2, resumed with 3 batches left."""
    spec = OrderSpec(layout=Layout(samples=np.array([128]), sizes=np.array([0])), batch_size=2, shuffle="full")
    rest = resume(spec, save(open_epoch(spec, 0), 61))
    assert [rest.num_steps, open_epoch(spec, 1).num_steps, open_epoch(spec, 2).num_steps] == [3, 64, 64]


def test_saved_at_the_end_the_rest_is_empty():
    for tail in ("drop", "pad", "keep"):
        spec = spec_of(2, tail=tail)
        whole = open_epoch(spec, 3)
        rest = resume(spec, save(whole, whole.num_steps))
        assert (rest.epoch, rest.num_steps) == (3, 0)


STATE = state_at(open_epoch(spec_of(2), 0), 1, fingerprint=NAME, tail="pad")

CHANGES = {
    "fingerprint": "f" * 32,
    "num_samples": 61,
    "num_shards": 7,
    "seed": 6,
    "shuffle": "none",
    "window_samples": 9,
    "canonical_nodes": 2,
    "tail": None,
    "global_batch": 12,
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_orders_are_refused_by_name_and_values(name):
    current = replace(STATE, **{name: CHANGES[name]})
    with pytest.raises(OrderError) as caught:
        check_compatible(STATE, current)
    text = str(caught.value)
    assert f"{name} differs" in text
    assert repr(getattr(STATE, name)) in text
    assert repr(CHANGES[name]) in text
    assert caught.value.remedy


def test_another_global_batch_is_continued_on_request():
    check_compatible(STATE, replace(STATE, global_batch=12, batch_size=6), "continue")


@pytest.mark.parametrize("change", [{"world_size": 1}, {"batch_size": 3}, {"global_batch": 12}])
def test_inside_a_global_step_nothing_may_change(change):
    saved = replace(STATE, rank_batches=1)
    check_compatible(saved, STATE)
    with pytest.raises(OrderError, match=r"between the batches|global_batch"):
        check_compatible(saved, replace(STATE, **change), "continue")


def test_states_of_newer_formats_are_refused():
    with pytest.raises(OrderError, match=r"newer format.*format=2.*format=1"):
        OrderState.from_dict(STATE.to_dict() | {"format": 2})


@pytest.mark.parametrize(
    "damage", [{"format": None}, {"epoch": -1}, {"seed": "0"}, {"sources": "ab"}, {"shuffle": 3}, {"more": 1}]
)
def test_damaged_states_are_refused(damage):
    with pytest.raises(OrderError):
        OrderState.from_dict(STATE.to_dict() | damage)


def test_states_with_missing_fields_are_refused_by_name():
    values = STATE.to_dict()
    del values["epoch"]
    with pytest.raises(OrderError, match="epoch"):
        OrderState.from_dict(values)


def test_the_largest_state_is_small():
    state = replace(
        STATE,
        num_samples=10**12,
        num_shards=10**8,
        seed=(1 << 64) - 1,
        shuffle="window",
        window_samples=10**9,
        samples_delivered=10**12,
        sources=tuple(range(10**11, 10**11 + 16)),
    )
    assert len(json.dumps(state.to_dict())) < 1024
    assert OrderState.from_dict(json.loads(json.dumps(state.to_dict()))) == state
