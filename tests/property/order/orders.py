"""Orders of all kinds for hypothesis: uneven shards, 1 to 16 ranks, nodes, accumulation, modes, tails."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from headrace.contracts import Layout
from headrace.order import EpochOrder, OrderSpec

EPOCHS = st.integers(0, 3) | st.integers(0, 1 << 40)


def layout_of(samples: list[int], size_bytes: int = 1000) -> Layout:
    counts = np.array(samples, dtype=np.int64)
    return Layout(samples=counts, sizes=counts * size_bytes)


@st.composite
def layouts(draw) -> Layout:
    """No shard, empty ones, a few samples, one shard that holds nearly all, many alike."""
    uneven = st.lists(st.integers(0, 40), max_size=14)
    lopsided = st.builds(lambda small, large: [*small, large], st.lists(st.integers(0, 3), max_size=8), st.just(300))
    alike = st.builds(lambda num, size: [size] * num, st.integers(1, 40), st.integers(1, 12))
    return layout_of(draw(uneven | lopsided | alike), draw(st.sampled_from([0, 1000, 1 << 30])))


def divisors(number: int) -> list[int]:
    return [one for one in range(1, number + 1) if number % one == 0]


@st.composite
def splits(draw, multiple_of: int = 1) -> dict[str, int]:
    """Batch, ranks and accumulation whose product is a multiple of some number."""
    world_size, accumulate = draw(st.integers(1, 16)), draw(st.sampled_from([1, 1, 2, 3]))
    least = multiple_of // int(np.gcd(multiple_of, world_size * accumulate))
    return {"batch_size": least * draw(st.integers(1, 7)), "world_size": world_size, "accumulate": accumulate}


@st.composite
def specs(draw, *, shuffles=("none", "full", "window", "window"), tails=("drop", "pad", "keep")) -> OrderSpec:
    shuffle = draw(st.sampled_from(shuffles))
    nodes = draw(st.sampled_from([1, 1, 2, 3, 4, 8])) if shuffle == "window" else 1
    return OrderSpec(
        layout=draw(layouts()),
        seed=draw(st.sampled_from([0, (1 << 64) - 1]) | st.integers(0, (1 << 64) - 1)),
        canonical_nodes=nodes,
        shuffle=shuffle,
        window_samples=draw(st.none() | st.integers(1, 150)) if shuffle == "window" else None,
        tail=draw(st.sampled_from(tails)),
        **draw(splits(nodes)),
    )


@st.composite
def other_splits(draw, spec: OrderSpec) -> OrderSpec:
    """The same global batch over other ranks and accumulation."""
    world_size = draw(st.sampled_from([one for one in divisors(spec.global_batch) if one <= 16]))
    accumulate = draw(st.sampled_from(divisors(spec.global_batch // world_size)))
    batch_size = spec.global_batch // world_size // accumulate
    return replace(spec, batch_size=batch_size, world_size=world_size, accumulate=accumulate)


def batches(order: EpochOrder) -> list[list[np.ndarray]]:
    """Ids of every batch of every rank, the padding -1 - id: `batches(order)[rank][index]`."""
    steps = [[order.step(index, rank) for index in range(order.num_steps)] for rank in range(order.spec.world_size)]
    return [[np.where(step.valid, step.ids, -1 - step.ids) for step in rank] for rank in steps]


def global_rows(order: EpochOrder) -> list[np.ndarray]:
    """Rows of each global step, put together from what the ranks deliver, the padding -1 - id."""
    per_rank, accumulate = batches(order), order.spec.accumulate
    return [
        np.concatenate([rows for rank in per_rank for rows in rank[first : first + accumulate]])
        for first in range(0, order.num_steps, accumulate)
    ]


def valid_rows(steps: list[np.ndarray]) -> np.ndarray:
    """What is delivered for the first time, in its sequence."""
    rows = np.concatenate([np.zeros(0, dtype=np.int64), *steps])
    return rows[rows >= 0]
