"""What an order is made of is checked before anything is computed."""

from __future__ import annotations

import numpy as np
import pytest

from headrace.contracts import Layout
from headrace.errors import OptionError, OrderError
from headrace.order import OrderSpec, Topology, default_canonical_nodes, fingerprint


def layout(num_shards: int, samples: int, size_bytes: int) -> Layout:
    return Layout(
        samples=np.full(num_shards, samples, dtype=np.int64), sizes=np.full(num_shards, size_bytes, dtype=np.int64)
    )


@pytest.mark.parametrize(
    "options",
    [
        {"seed": -1},
        {"seed": 1 << 64},
        {"batch_size": 0},
        {"world_size": 0},
        {"accumulate": -3},
        {"canonical_nodes": 0, "shuffle": "window"},
        {"shuffle": "yes"},
        {"tail": "cut"},
        {"window_samples": 0, "shuffle": "window"},
        {"window_samples": 10},
        {"canonical_nodes": 2, "shuffle": "full"},
        {"canonical_nodes": 3, "shuffle": "window"},
        {"layout": Layout(samples=np.array([1, 2]), sizes=np.array([1]))},
        {"layout": Layout(samples=np.array([[1]]), sizes=np.array([[1]]))},
        {"layout": Layout(samples=np.array([1.5]), sizes=np.array([1]))},
        {"layout": Layout(samples=np.array([3, -1]), sizes=np.array([1, 1]))},
        {"layout": Layout(samples=np.array([1 << 62, 1 << 62]), sizes=np.array([1, 1]))},
    ],
)
def test_nonsense_is_refused_with_the_value(options):
    with pytest.raises(OrderError) as caught:
        OrderSpec(**({"layout": layout(4, 10, 100), "batch_size": 4} | options))
    assert caught.value.got is not None


@pytest.mark.parametrize(
    "num_shards, size_bytes, covered",
    [
        (100, 1 << 30, 4),  # 2 GiB would be two shards: four at least
        (100, 256 << 20, 8),  # 2 GiB are eight shards
        (100, 300 << 20, 7),  # rounded up
        (3, 1 << 40, 3),  # all there are
        (10, 1 << 20, 10),  # all are less than 2 GiB
        (7, 0, 7),  # no sizes are known
    ],
)
def test_default_window(num_shards, size_bytes, covered):
    spec = OrderSpec(layout=layout(num_shards, 1000, size_bytes), batch_size=4, shuffle="window")
    assert spec.least_window_samples == covered * 1000
    assert covered * 1000 <= spec.largest_window_samples < 2 * covered * 1000
    assert spec.window_size_bytes == spec.largest_window_samples * size_bytes // 1000


def test_a_window_is_no_larger_than_the_share_of_a_node():
    spec = OrderSpec(layout=layout(8, 1000, 1 << 30), batch_size=4, shuffle="window", canonical_nodes=4)
    assert spec.largest_window_samples == 2000


def test_other_modes_have_no_window():
    spec = OrderSpec(layout=layout(8, 1000, 1 << 30), batch_size=4)
    assert (spec.largest_window_samples, spec.window_size_bytes) == (0, 0)


@pytest.mark.parametrize("nodes, batch, chosen", [(1, 7, 1), (4, 64, 4), (3, 64, 2), (5, 7, 1), (100, 8, 8)])
def test_default_canonical_nodes_divide_the_global_batch(nodes, batch, chosen):
    assert default_canonical_nodes(nodes, batch) == chosen


@pytest.mark.parametrize(
    "options",
    [
        {"rank": 2, "world_size": 2},
        {"rank": -1},
        {"world_size": 0},
        {"local_rank": 1},
        {"node": 3, "num_nodes": 3, "world_size": 8},
        {"rank": 0.0},
        {"local_rank": 3, "local_world_size": 3, "world_size": 4},
        {"num_nodes": 3, "world_size": 2},
    ],
)
def test_impossible_topologies_are_refused(options):
    with pytest.raises(OptionError):
        Topology(**options)


def test_fingerprints_depend_on_content_not_on_key_order():
    first = fingerprint({"kind": "shards", "shards": [["a.tar", 10, 2048]]})
    assert first == fingerprint({"shards": [["a.tar", 10, 2048]], "kind": "shards"})
    assert first != fingerprint({"kind": "shards", "shards": [["a.tar", 11, 2048]]})
    assert fingerprint({"b": [1, "é"], "a": None}) == "a56edd4bae1914c1a12dbd3956f84c13"


@pytest.mark.parametrize("identity", [{"a": object()}, {"a": float("nan")}, {"a": np.int64(3)}])
def test_identities_that_are_no_json_are_refused(identity):
    with pytest.raises(OrderError, match="JSON"):
        fingerprint(identity)
