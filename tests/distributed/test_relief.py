"""Ranks whose worker processes take over at different batches make the same steps as ranks that have none."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.distributed.torchrun import run_on_ranks

NUM_RANKS = 2
NUM_STEPS = {"pad": 4, "drop": 3}
BORDERS = {"none": None, "first": [0, 2], "later": [3, 1]}
"""How many borders each rank lets pass in the second epoch before its workers take over."""


def case(tail, borders):
    options = {"batch_size": 3, "shuffle": True, "seed": 3, "tail": tail, "num_workers": 0 if borders is None else 1}
    return {"num": 22, "epochs": 3, "borders": borders} | options


@pytest.fixture(scope="module")
def delivered(tmp_path_factory):
    """Case -> what each rank was given."""
    folder = tmp_path_factory.mktemp("relieved")
    plan = [{"name": f"{tail}-{who}"} | case(tail, BORDERS[who]) for tail in NUM_STEPS for who in BORDERS]
    (folder / "plan.json").write_text(json.dumps(plan))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", f"{Path('src').resolve()}:{Path.cwd()}")  # the script shares a fixture
        run_on_ranks("relieve.py", NUM_RANKS, folder / "plan.json", folder)
    ranks = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(NUM_RANKS)]
    return {name: [rank[name] for rank in ranks] for name in ranks[0]}


def told(epochs):
    return [[step["told"] for step in epoch] for epoch in epochs]


@pytest.mark.parametrize("tail", NUM_STEPS)
@pytest.mark.parametrize("who", ["first", "later"])
def test_who_makes_the_batches_changes_nothing(tail, who, delivered):
    for rank, expected in zip(delivered[f"{tail}-{who}"], delivered[f"{tail}-none"], strict=True):
        assert [len(epoch) for epoch in rank["epochs"]] == [NUM_STEPS[tail]] * 3
        assert told(rank["epochs"]) == told(expected["epochs"])


@pytest.mark.parametrize("tail", NUM_STEPS)
@pytest.mark.parametrize("who", ["first", "later"])
def test_each_rank_hands_over_at_its_own_batch(tail, who, delivered):
    for border, rank in zip(BORDERS[who], delivered[f"{tail}-{who}"], strict=True):
        ours = [step["is_ours"] for epoch in rank["epochs"] for step in epoch]
        num_before = NUM_STEPS[tail] + max(0, border - 1)  # the first border is the begin of the second epoch
        assert ours == [True] * num_before + [False] * (len(ours) - num_before)


@pytest.mark.parametrize("tail", NUM_STEPS)
def test_a_state_is_the_same_on_all_ranks_and_is_loaded_by_another(tail, delivered):
    for who in BORDERS:
        for rank, expected in zip(delivered[f"{tail}-{who}"], delivered[f"{tail}-none"], strict=True):
            assert all(len(set(step["states"])) == 1 for epoch in rank["epochs"] for step in epoch)
            assert rank["rest"] == told(expected["epochs"])[1][2:]
