"""Iterable datasets on ranks that are real processes."""

from __future__ import annotations

import json

import pytest

from tests.distributed.torchrun import run_on_ranks
from tests.streams import batches_of, in_turns, parts_of

CASES = {
    "even": {"kind": "sized", "num": 25, "num_workers": 0, "cut": 3},
    "even_in_processes": {"kind": "sized", "num": 21, "num_workers": 2, "cut": 2},
    "dropped": {"kind": "sized", "num": 21, "num_workers": 0, "cut": 1, "tail": "drop"},
    "unsized": {"kind": "unsized", "num": 21, "num_workers": 0, "cut": 2},
    "naive": {"kind": "naive", "num": 10, "num_workers": 0, "cut": 1},
}
BATCH_SIZE = 3


@pytest.fixture(scope="module")
def ranks(tmp_path_factory):
    folder = tmp_path_factory.mktemp("streams")
    plan = [{"name": name, "batch_size": BATCH_SIZE} | case for name, case in CASES.items()]
    (folder / "plan.json").write_text(json.dumps(plan))
    run_on_ranks("streams.py", 2, folder / "plan.json", folder)
    return [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(2)]


def streams_of(name, rank):
    """What the streams of a rank read."""
    case = CASES[name]
    num_streams = max(1, case["num_workers"])
    parts = parts_of(list(range(case["num"])), 2 * num_streams)
    return [parts[2 * stream + rank] for stream in range(num_streams)]


@pytest.mark.parametrize("name", CASES)
def test_epochs_are_alike_and_states_go_on(ranks, name):
    for rank in ranks:
        assert rank[name]["first"] == rank[name]["second"]


@pytest.mark.parametrize("name", ["even", "even_in_processes"])
def test_ranks_make_equal_steps_and_each_sample_comes_once(ranks, name):
    steps = [len(rank[name]["first"]) for rank in ranks]
    assert steps == [rank[name]["len"] for rank in ranks] == [steps[0]] * 2
    for number, rank in enumerate(ranks):
        batches = rank[name]["first"]
        expected = in_turns(streams_of(name, number), BATCH_SIZE)
        assert [batch for batch, _ in batches][: len(expected)] == expected
        assert [all(valid) for _, valid in batches] == [place < len(expected) for place in range(len(batches))]
        first = batches_of(streams_of(name, number)[0], BATCH_SIZE, drop_last=False)
        assert [batch for batch, _ in batches][len(expected) :] == first[: len(batches) - len(expected)]
        assert f"{steps[0]} on every rank" in rank[name]["explain"]
        assert rank[name]["told"] == []
    good = [row for rank in ranks for batch, valid in rank[name]["first"] if all(valid) for row in batch]
    assert sorted(good) == list(range(CASES[name]["num"]))


def test_dropping_makes_the_steps_of_the_shortest_rank(ranks):
    for number, rank in enumerate(ranks):
        expected = in_turns(streams_of("dropped", number), BATCH_SIZE, drop_last=True)
        assert [batch for batch, _ in rank["dropped"]["first"]] == expected[:3]
        assert rank["dropped"]["len"] == 3


def test_without_a_length_each_rank_gives_what_it_has_and_explain_says_so(ranks):
    for number, rank in enumerate(ranks):
        assert [batch for batch, _ in rank["unsized"]["first"]] == in_turns(streams_of("unsized", number), BATCH_SIZE)
        assert "perhaps unequal" in rank["unsized"]["explain"]


def test_ranks_that_get_the_same_are_told(ranks):
    """All but the one that was first to say so; which that is depends on the moment."""
    told = [word for rank in ranks for word in rank["naive"]["told"] if "begin with the same" in word]
    assert told
    assert all("rank 0, worker 0" in word and "rank 1, worker 0" in word for word in told)
