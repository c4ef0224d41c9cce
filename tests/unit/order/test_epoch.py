"""Steps of an epoch against a slow order that is written out in full; cases that loaders get wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace._base.hashing import fold
from headrace.contracts import Layout
from headrace.errors import OrderError
from headrace.order import EpochOrder, OrderSpec, open_epoch
from headrace.order.keys import deal_key, full_key, shards_key, window_keys


def layout(*samples: int, size_bytes: int = 1000) -> Layout:
    counts = np.array(samples, dtype=np.int64)
    return Layout(samples=counts, sizes=counts * size_bytes)


def sorted_by_hash(items: list, key: int) -> list:
    return [items[i] for i in sorted(range(len(items)), key=lambda i: int(fold(key, i)))]


def slow_sequences(spec: OrderSpec, epoch: int) -> list[list[int]]:
    """The sequences of all canonical nodes, by sorting lists of samples: for datasets below 2^16 samples."""
    num, nodes = spec.num_samples, spec.canonical_nodes
    if spec.shuffle == "none":
        return [list(range(num))]
    if spec.shuffle == "full":
        return [sorted_by_hash(list(range(num)), full_key(spec.seed, epoch))]
    ids = iter(range(num))
    shards = [[(shard, next(ids)) for _ in range(count)] for shard, count in enumerate(spec.layout.samples)]
    line = list(itertools.chain.from_iterable(sorted_by_hash(shards, deal_key(spec.seed))))
    sequences = []
    for node in range(nodes):
        share = line[node * num // nodes : (node + 1) * num // nodes]
        stretches = [list(group) for _, group in itertools.groupby(share, key=lambda pair: pair[0])]
        shuffled = [
            sample for stretch in sorted_by_hash(stretches, shards_key(spec.seed, epoch, node)) for _, sample in stretch
        ]
        count = max(1, len(shuffled) // spec.least_window_samples)
        sequence = []
        for window, samples in enumerate(np.array_split(np.array(shuffled, dtype=int), count)):
            sequence += sorted_by_hash(samples.tolist(), int(window_keys(spec.seed, epoch, node, np.int64(window))))
        sequences.append(sequence)
    return sequences


def slow_steps(spec: OrderSpec, epoch: int) -> list[tuple[list[int], list[bool]]]:
    """All global steps, padded where the tail says so."""
    sequences = slow_sequences(spec, epoch)
    share = spec.global_batch // spec.canonical_nodes
    steps = []
    for first in range(0, max(map(len, sequences), default=0), share):
        rows = [sample for sequence in sequences for sample in sequence[first : first + share]]
        missing = spec.global_batch - len(rows)
        if missing and spec.tail == "drop":
            break
        padding = [] if spec.cuts_padding else [rows[i % len(rows)] for i in range(len(rows), spec.global_batch)]
        steps.append((rows + padding, [True] * len(rows) + [False] * len(padding)))
    return steps


@st.composite
def specs(draw) -> OrderSpec:
    shuffle = draw(st.sampled_from(["none", "full", "window", "window"]))
    batch_size = draw(st.integers(1, 9))
    world_size = draw(st.integers(1, 6))
    accumulate = draw(st.integers(1, 3))
    batch = batch_size * world_size * accumulate
    in_window = shuffle == "window"
    divisors = [nodes for nodes in range(1, batch + 1) if batch % nodes == 0]
    return OrderSpec(
        layout=layout(*draw(st.lists(st.integers(0, 40), max_size=12))),
        seed=draw(st.integers(0, (1 << 64) - 1)),
        batch_size=batch_size,
        world_size=world_size,
        accumulate=accumulate,
        canonical_nodes=draw(st.sampled_from(divisors)) if in_window else 1,
        shuffle=shuffle,
        window_samples=draw(st.none() | st.integers(1, 100)) if in_window else None,
        tail=draw(st.sampled_from(["drop", "pad", "keep"])),
    )


@settings(max_examples=400)
@given(spec=specs(), epoch=st.integers(0, 1 << 40))
def test_global_steps_equal_the_slow_order(spec, epoch):
    order = open_epoch(spec, epoch)
    steps = [order.global_step(number) for number in range(order.num_global_steps)]
    assert [(ids.tolist(), valid.tolist()) for ids, valid in steps] == slow_steps(spec, epoch)


@settings(max_examples=300)
@given(spec=specs(), epoch=st.integers(0, 1000))
def test_ranks_share_the_rows_of_global_steps(spec, epoch):
    order = open_epoch(spec, epoch)
    assert order.num_steps == (0 if order.num_global_steps == 0 else order.num_steps)
    for number in range(order.num_global_steps):
        ids, valid = order.global_step(number)
        batches = [
            order.step(index, rank)
            for rank in range(spec.world_size)
            for index in range(number * spec.accumulate, min((number + 1) * spec.accumulate, order.num_steps))
        ]
        assert np.concatenate([step.ids for step in batches]).tolist() == ids.tolist()
        assert np.concatenate([step.valid for step in batches]).tolist() == valid.tolist()
        assert all(0 < len(step.ids) <= spec.batch_size for step in batches)


def delivered(order: EpochOrder) -> np.ndarray:
    """The valid rows of an epoch over all ranks."""
    steps = [order.step(index, rank) for index in range(order.num_steps) for rank in range(order.spec.world_size)]
    return np.concatenate([step.ids[step.valid] for step in steps] or [np.zeros(0, dtype=np.int64)])


@settings(max_examples=200)
@given(spec=specs(), epoch=st.integers(0, 1000), data=st.data())
def test_any_step_alone_is_as_in_sequence(spec, epoch, data):
    order = open_epoch(spec, epoch)
    if order.num_steps:
        index = data.draw(st.integers(0, order.num_steps - 1))
        rank = data.draw(st.integers(0, spec.world_size - 1))
        for other in range(index):
            order.step(other, rank)
        alone = open_epoch(spec, epoch).step(index, rank)
        assert alone.ids.tolist() == order.step(index, rank).ids.tolist()


GOLDEN = {
    "none": [88, 89, 90, 91, 92, 93, 94, 95],
    "full": [0, 383, 518, 185, 132, 438, 424, 606],
    "window": [740, 130, 618, 256, 51, 39, 167, 686],
}


@pytest.mark.parametrize("shuffle", GOLDEN)
def test_golden_vectors(shuffle):
    nodes = 2 if shuffle == "window" else 1
    spec = OrderSpec(
        layout=layout(*range(3, 40)), seed=42, batch_size=4, world_size=2, canonical_nodes=nodes, shuffle=shuffle
    )
    assert open_epoch(spec, 7).global_step(11)[0].tolist() == GOLDEN[shuffle]


def test_golden_vectors_of_large_windows():
    spec = OrderSpec(
        layout=layout(*[50_000] * 40), seed=42, batch_size=8, shuffle="window", window_samples=200_000, tail="drop"
    )
    assert open_epoch(spec, 1).step(100_000).ids.tolist() == [
        1398558,
        1388801,
        1630214,
        918716,
        908369,
        1378906,
        1443840,
        1391733,
    ]


@pytest.mark.parametrize("window_samples", [70_000, 30_000, 3])
def test_windows_of_any_size_are_exact(window_samples):
    samples = 200_000 if window_samples > 3 else 2_000
    spec = OrderSpec(
        layout=layout(*[samples // 8] * 8),
        seed=3,
        batch_size=50,
        world_size=2,
        canonical_nodes=2,
        shuffle="window",
        window_samples=window_samples,
        tail="keep",
    )
    assert np.array_equal(np.sort(delivered(open_epoch(spec, 0))), np.arange(samples))


@pytest.mark.parametrize("shuffle, window_samples", [("full", None), ("window", None), ("window", 50)])
def test_fresh(shuffle, window_samples):
    """Case O1: 20 shards, three epochs: three orders, of shards too, each reproducible."""
    spec = OrderSpec(
        layout=layout(*[50] * 20), batch_size=50, shuffle=shuffle, window_samples=window_samples, tail="keep"
    )
    epochs = [delivered(open_epoch(spec, epoch)) for epoch in (0, 1, 2)]
    assert len({tuple(ids) for ids in epochs}) == 3
    assert len({tuple(dict.fromkeys((ids // 50).tolist())) for ids in epochs}) == 3
    for epoch, ids in enumerate(epochs):
        assert np.array_equal(delivered(open_epoch(spec, epoch)), ids)


def test_drop_leaves_out_another_part_each_epoch():
    spec = OrderSpec(layout=layout(100), batch_size=64, shuffle="full", tail="drop")
    dropped = [set(range(100)) - set(delivered(open_epoch(spec, epoch)).tolist()) for epoch in range(3)]
    assert [len(part) for part in dropped] == [36, 36, 36]
    assert dropped[0] != dropped[1] != dropped[2]


@pytest.mark.parametrize("shards, ranks", [([5] * 10, 4), ([5] * 2, 4), (range(3, 9), 2), ([1], 16), ([], 3)])
@pytest.mark.parametrize("tail", ["drop", "pad", "keep"])
@pytest.mark.parametrize("shuffle", ["none", "full", "window"])
def test_even(shards, ranks, tail, shuffle):
    """Case O2: uneven shards, fewer shards than ranks, one sample, none: every rank can make every step."""
    spec = OrderSpec(layout=layout(*shards), batch_size=2, world_size=ranks, shuffle=shuffle, tail=tail)
    order = open_epoch(spec, 0)
    ids = [[order.step(index, rank).ids for index in range(order.num_steps)] for rank in range(ranks)]
    assert all(len(rows) == 2 for rank in ids for rows in rank)
    if tail != "drop":
        assert set(np.concatenate([np.zeros(0, dtype=int), *itertools.chain(*ids)]).tolist()) == set(range(sum(shards)))


def test_batches_run_on_over_shards():
    """Case O3: shards of 30 and 10 rows, batches of 8: five whole batches."""
    spec = OrderSpec(layout=layout(30, 10), batch_size=8, shuffle="window", tail="keep")
    order = open_epoch(spec, 0)
    assert [len(order.step(index).ids) for index in range(order.num_steps)] == [8] * 5


@pytest.mark.parametrize(
    "samples, batch, tail, steps", [(1000, 128, "drop", 7), (100, 4, "keep", 25), (101, 4, "keep", 26)]
)
def test_number_of_steps(samples, batch, tail, steps):
    """Cases O4 and O5."""
    order = open_epoch(OrderSpec(layout=layout(samples), batch_size=batch, tail=tail), 0)
    assert order.num_steps == steps
    assert sum(len(order.step(index).ids) for index in range(steps)) == min(samples, steps * batch)


def test_padding_repeats_the_rows_that_are_left():
    spec = OrderSpec(layout=layout(10), batch_size=4, world_size=2, tail="pad")
    ids, valid = open_epoch(spec, 0).global_step(1)
    assert ids.tolist() == [8, 9, 8, 9, 8, 9, 8, 9]
    assert valid.tolist() == [True] * 2 + [False] * 6


def test_canonical_nodes_keep_their_shards_over_epochs():
    spec = OrderSpec(
        layout=layout(*[24] * 16), seed=9, batch_size=8, world_size=4, canonical_nodes=4, shuffle="window", tail="pad"
    )
    shares = [
        {sample for index in range(order.num_steps) for sample in order.step(index, 0).ids.tolist()}
        for order in (open_epoch(spec, 0), open_epoch(spec, 1))
    ]
    assert shares[0] == shares[1]
    assert len(shares[0]) == 96


def test_reading_stays_within_one_window():
    spec = OrderSpec(layout=layout(*[100] * 40), batch_size=100, shuffle="window", window_samples=500, tail="keep")
    order = open_epoch(spec, 0)
    for window in range(8):
        ids = np.concatenate([order.step(window * 5 + index).ids for index in range(5)])
        assert len(np.unique(ids // 100)) == 5


def test_steps_own_their_rows():
    order = open_epoch(OrderSpec(layout=layout(100), batch_size=10, shuffle="full", tail="drop"), 0)
    first = order.step(0).ids
    before = first.tolist()
    first[:] = -1
    assert order.step(0).ids.tolist() == before


@pytest.mark.parametrize("index, rank", [(-1, 0), (5, 0), (0, 2), (0, -1)])
def test_steps_that_are_not_there(index, rank):
    order = open_epoch(OrderSpec(layout=layout(100), batch_size=10, world_size=2), 0)
    with pytest.raises(OrderError, match="no such"):
        order.step(index, rank)


def test_global_steps_and_epochs_that_are_not_there():
    spec = OrderSpec(layout=layout(100), batch_size=10)
    with pytest.raises(OrderError, match="0 to 9"):
        open_epoch(spec, 0).global_step(10)
    with pytest.raises(OrderError, match="epoch"):
        open_epoch(spec, -1)


@pytest.mark.parametrize("start", [-1, 101, 3])
def test_an_epoch_is_opened_only_where_all_nodes_stand_alike(start):
    spec = OrderSpec(layout=layout(100), batch_size=10, canonical_nodes=2, shuffle="window")
    with pytest.raises(OrderError, match=str(start)):
        open_epoch(spec, 0, start)
