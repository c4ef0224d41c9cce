"""The promises of docs/design/order.md, by the batches that the ranks get, on orders of all kinds."""

from __future__ import annotations

import json
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from headrace.order import OrderSpec, OrderState, check_compatible, open_epoch, state_at
from tests.property.order.orders import (
    EPOCHS,
    batches,
    global_rows,
    layout_of,
    other_splits,
    specs,
    splits,
    valid_rows,
)

NAME = "0123456789abcdef0123456789abcdef"


@settings(max_examples=150)
@given(spec=specs(), epoch=EPOCHS)
def test_exact(spec, epoch):
    """Every sample once; what is left out, or repeated and marked, is less than a global batch, in the last step."""
    steps = global_rows(open_epoch(spec, epoch))
    valid = valid_rows(steps)
    padding = sum(len(rows) for rows in steps) - len(valid)
    if spec.tail == "drop":
        assert len(valid) == spec.num_samples // spec.global_batch * spec.global_batch
        assert padding == 0
    else:
        assert np.array_equal(np.sort(valid), np.arange(spec.num_samples))
        assert padding == (0 if spec.cuts_padding else -spec.num_samples % spec.global_batch)
    assert len(np.unique(valid)) == len(valid)
    assert all((rows >= 0).all() for rows in steps[:-1])
    if padding:
        last = steps[-1]
        left = last[last >= 0]
        assert np.array_equal(-1 - last[len(left) :], np.resize(left, padding))


@settings(max_examples=100)
@given(spec=specs(), epoch=EPOCHS)
def test_even(spec, epoch):
    """All ranks make `num_steps` batches of equal shape, a number that is known before the first."""
    order = open_epoch(spec, epoch)
    promised = order.num_steps
    per_rank = [[len(rows) for rows in rank] for rank in batches(order)]
    assert all(sizes == per_rank[0] for sizes in per_rank)
    assert [len(sizes) for sizes in per_rank] == [promised] * spec.world_size
    assert all(size == spec.batch_size for size in per_rank[0][:-1])
    num_global = -(-spec.num_samples // spec.global_batch)
    if spec.tail == "drop":
        num_global = spec.num_samples // spec.global_batch
    assert order.num_global_steps == num_global
    if not spec.cuts_padding:
        assert promised == num_global * spec.accumulate
        assert all(size == spec.batch_size for size in per_rank[0])


@settings(max_examples=60)
@given(spec=specs(), epoch=EPOCHS, data=st.data())
def test_deterministic_from_any_thread_in_any_sequence(spec, epoch, data):
    order = open_epoch(spec, epoch)
    wanted = [(index, rank) for index in range(min(order.num_steps, 12)) for rank in range(spec.world_size)]
    wanted = data.draw(st.permutations(wanted))
    with ThreadPoolExecutor(4) as threads:
        got = list(threads.map(lambda one: order.step(*one).ids.tolist(), wanted))
    expected = batches(open_epoch(replace(spec), epoch))
    assert got == [np.where((rows := expected[rank][index]) < 0, -1 - rows, rows).tolist() for index, rank in wanted]


@settings(max_examples=60)
@given(spec=specs(shuffles=("none", "full", "window")), epoch=EPOCHS)
def test_deterministic_whatever_the_samples_weigh(spec, epoch):
    """Sizes decide the default window, and nothing else."""
    assume(spec.shuffle != "window" or spec.window_samples)
    heavy = replace(spec, layout=layout_of(spec.layout.samples.tolist(), 1 << 33))
    assert list(map(list, global_rows(open_epoch(heavy, epoch)))) == list(
        map(list, global_rows(open_epoch(spec, epoch)))
    )


@settings(max_examples=150)
@given(spec=specs(), epoch=EPOCHS, data=st.data())
def test_elastic(spec, epoch, data):
    """The same global batch over 1 to 16 ranks, with or without accumulation: the same sequence of global batches."""
    other = data.draw(other_splits(spec))
    ours, theirs = global_rows(open_epoch(spec, epoch)), global_rows(open_epoch(other, epoch))
    assert len(ours) == len(theirs)
    for rows, others in zip(ours, theirs, strict=True):
        assert rows[rows >= 0].tolist() == others[others >= 0].tolist()
        if spec.tail == "pad":
            assert rows.tolist() == others.tolist()


@settings(max_examples=100)
@given(spec=specs(), epoch=EPOCHS, data=st.data())
def test_resumable_after_any_batch_on_any_ranks(spec, epoch, data):
    """Saved and loaded any number of times on the way: what is delivered in all is the uninterrupted epoch."""
    whole = global_rows(open_epoch(spec, epoch))
    delivered, now, order = [], spec, open_epoch(spec, epoch)
    for _ in range(data.draw(st.integers(1, 4))):
        steps = data.draw(st.integers(0, order.num_global_steps))
        delivered += global_rows(order)[:steps]
        state = loaded(state_at(order, min(steps * now.accumulate, order.num_steps), fingerprint=NAME, tail=None))
        now = data.draw(other_splits(spec))
        check_compatible(state, state_at(open_epoch(now, 0), 0, fingerprint=NAME, tail=None))
        order = open_epoch(now, state.epoch, state.samples_delivered)
    delivered += global_rows(order)
    assert [rows[rows >= 0].tolist() for rows in delivered] == [rows[rows >= 0].tolist() for rows in whole]
    if spec.tail == "pad":
        assert [rows.tolist() for rows in delivered] == [rows.tolist() for rows in whole]


def loaded(state: OrderState) -> OrderState:
    """A state that went to disk and back."""
    text = json.dumps(state.to_dict())
    assert len(text) < 1024
    return OrderState.from_dict(json.loads(text))


@settings(max_examples=120)
@given(spec=specs(), epoch=EPOCHS, data=st.data())
def test_batches_may_change_on_the_way(spec, epoch, data):
    """Any number of changes of the global batch: every sample once, in the sequence of the finest batches."""
    now, order = spec, open_epoch(spec, epoch)
    delivered = []
    for _ in range(data.draw(st.integers(1, 4))):
        steps = data.draw(st.integers(0, order.num_global_steps))
        delivered.append(valid_rows(global_rows(order)[:steps]))
        state = loaded(state_at(order, min(steps * now.accumulate, order.num_steps), fingerprint=NAME, tail=None))
        assert state.samples_delivered == sum(map(len, delivered))
        now = replace(spec, **data.draw(splits(spec.canonical_nodes)))
        check_compatible(state, state_at(open_epoch(now, 0), 0, fingerprint=NAME, tail=None), "continue")
        order = open_epoch(now, state.epoch, state.samples_delivered)
    delivered.append(valid_rows(global_rows(order)))
    rows = np.concatenate(delivered)
    assert len(np.unique(rows)) == len(rows)
    left_out = spec.num_samples - len(rows)
    assert left_out == (spec.num_samples - state.samples_delivered) % now.global_batch * (spec.tail == "drop")
    finest = finest_steps(spec, epoch)
    ends = [-(-end // spec.canonical_nodes) for end in np.cumsum([0, *map(len, delivered)])]
    for part, first, last in zip(delivered, ends[:-1], ends[1:], strict=True):
        assert set(part.tolist()) == {sample for step in finest[first:last] for sample in step}


def finest_steps(spec: OrderSpec, epoch: int) -> list[list[int]]:
    """The valid rows of each step if a step took one sample of each canonical node."""
    finest = replace(spec, batch_size=spec.canonical_nodes, world_size=1, accumulate=1, tail="keep")
    return [rows.tolist() for rows in global_rows(open_epoch(finest, epoch))]


@settings(max_examples=60)
@given(spec=specs(tails=("pad", "keep")), epoch=EPOCHS, data=st.data())
def test_an_epoch_opens_after_any_number_of_samples(spec, epoch, data):
    """Not only after whole global batches: after any that leaves all canonical nodes at the same position."""
    finest = finest_steps(spec, epoch)
    done = data.draw(st.integers(0, len(finest)))
    start = min(done * spec.canonical_nodes, spec.num_samples)
    rest = valid_rows(global_rows(open_epoch(spec, epoch, start)))
    assert sorted(rest.tolist()) == sorted(sample for step in finest[done:] for sample in step)


@settings(max_examples=100)
@given(spec=specs(shuffles=("full", "window")), epoch=EPOCHS, data=st.data())
def test_fresh(spec, epoch, data):
    """Another epoch or another seed is another order, of the same samples."""
    assume(spec.num_samples >= 25)
    if spec.shuffle == "window":
        assume(spec.window_samples is None or spec.window_samples >= 25)
        spec = replace(spec, canonical_nodes=1)
    keeping = replace(spec, tail="keep")
    one = valid_rows(global_rows(open_epoch(keeping, epoch)))
    other_epoch = data.draw(st.integers(0, 1 << 40).filter(lambda other: other != epoch))
    for order in (
        open_epoch(keeping, other_epoch),
        open_epoch(replace(keeping, seed=spec.seed ^ 1), epoch),
    ):
        other = valid_rows(global_rows(order))
        assert other.tolist() != one.tolist()
        assert np.array_equal(np.sort(other), np.sort(one))


@settings(max_examples=60)
@given(spec=specs(shuffles=("window",), tails=("keep", "pad")), epochs=st.tuples(EPOCHS, EPOCHS))
def test_canonical_nodes_read_the_same_samples_every_epoch(spec, epochs):
    """What a node caches in one epoch it needs in the next."""
    spec = replace(spec, batch_size=spec.canonical_nodes, world_size=1, accumulate=1, tail="drop")
    shares = [np.array(global_rows(open_epoch(spec, epoch))) for epoch in epochs]
    num = spec.num_samples // spec.canonical_nodes
    for node in range(spec.canonical_nodes):
        first, second = (set(share[:, node].tolist()) if num else set() for share in shares)
        # All but one sample: sequences differ in length by one, and the longer ones leave one out here.
        assert len(first ^ second) <= 2


MODES = [("none", 1), ("full", 1), ("window", 1), ("window", 2), ("window", 8)]


@pytest.mark.parametrize("shuffle, nodes", MODES)
def test_small(shuffle, nodes):
    """A billion samples in 100,000 shards: less than 50 MB to open an epoch and to jump to its middle."""
    spec = OrderSpec(
        layout=layout_of([10_000] * 100_000, 100_000),
        batch_size=256,
        world_size=8,
        canonical_nodes=nodes,
        shuffle=shuffle,
    )
    tracemalloc.start()
    order = open_epoch(spec, 1)
    order.step(order.num_steps // 2, rank=5)
    peak_bytes = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak_bytes < 50e6


@pytest.mark.parametrize("shuffle, nodes", MODES)
def test_no_array_has_the_length_of_the_dataset(shuffle, nodes):
    """10^15 samples: the last batches are there, and all ids lie in the dataset."""
    spec = OrderSpec(
        layout=layout_of([10**12] * 1000), batch_size=64, world_size=4, canonical_nodes=nodes, shuffle=shuffle
    )
    order = open_epoch(spec, 0)
    ids = np.concatenate([order.step(order.num_steps - 1 - index, rank).ids for index in range(3) for rank in range(4)])
    assert len(np.unique(ids)) == len(ids)
    assert ids.min() >= 0
    assert ids.max() < 10**15
