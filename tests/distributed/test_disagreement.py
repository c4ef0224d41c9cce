"""Ranks that disagree are all told so within seconds, and ranks that only look different are left in peace."""

from __future__ import annotations

import json

import pytest

import headrace as hr
from tests.distributed.torchrun import run_on_ranks


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """Case -> what each of four ranks raised or returned, and after how long."""
    folder = tmp_path_factory.mktemp("disagreement")
    for name, num in (("shards", 5), ("others", 6)):
        with hr.ShardWriter(str(folder / name), samples_per_shard=5) as writer:
            for number in range(5 * num):
                writer.write({"__key__": f"{number:04d}", "cls": number})
    run_on_ranks("disagree.py", 4, folder / "shards", folder / "others", folder)
    ranks = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(4)]
    return {case: [rank[case] for rank in ranks] for case in ranks[0]}


@pytest.mark.parametrize(
    "case, values, remedy",
    [
        ("other_seed", "seed: 0 (ranks 0-1, 3), 5 (rank 2)", "same seed"),
        ("other_shards", "num_samples: 25 (ranks 0-2), 30 (rank 3)", "whole dataset"),
        ("other_length", "num_samples: 40 (ranks 0-2), 39 (rank 3)", "whole dataset"),
        ("other_batch_size", "batch_size: 2 (ranks 0, 2-3), 4 (rank 1)", "same arguments"),
        ("stray_batch", "epoch: 0 (ranks 0, 2-3), 1 (rank 1)", "peek()"),
        ("stray_batches", "epoch: 2 (rank 0), 1 (ranks 1-3)", "peek()"),
        ("other_state", "samples_delivered: 8 (rank 0), 0 (ranks 1-3)", "same state"),
        ("mesh_of_disagreeing_pairs", "seed: 0 (ranks 0, 2), 1 (ranks 1, 3)", "same seed"),
    ],
)
def test_all_ranks_name_the_difference(told, case, values, remedy):
    for rank, found in enumerate(told[case]):
        assert values in found["raised"]
        assert f"rank={rank}" in found["raised"]
        assert remedy in found["raised"]
        assert found["after_s"] < 20


@pytest.mark.parametrize("case", ["alone", "two_loaders", "tensor_parallel"])
def test_no_rank_is_blamed_or_kept_waiting(told, case):
    for found in told[case]:
        assert found["raised"] is None
        assert found["after_s"] < 10


def test_waiting_for_a_late_rank_is_measured(told):
    """Rank 0 comes 0.2 s late to each opening of the training loader."""
    waited = [found["result"] for found in told["two_loaders"]]
    assert all(seconds > 0.1 for seconds in waited[1:])


def test_a_rank_alone_changes_nothing_for_the_others(told):
    assert sorted(one for found in told["alone"] for one in found["result"]) == list(range(40))


def test_tensor_parallel_ranks_get_equal_batches(told):
    for kind in ("whole", "part", "group"):
        ranks = [found["result"][kind] for found in told["tensor_parallel"]]
        assert sorted(ranks[0] + ranks[2]) == sorted(ranks[1] + ranks[3]) == list(range(40))
        if kind != "part":  # there each data-parallel group has a seed of its own
            assert ranks[0] == ranks[1]
            assert ranks[2] == ranks[3]
