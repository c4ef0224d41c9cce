"""Ranks that are real processes make equal steps and see every sample once, however uneven the shards are."""

from __future__ import annotations

import json
from itertools import chain

import pytest

import headrace as hr
from tests.distributed.torchrun import run_on_ranks

UNEVEN = {
    "ten_of_five": [5] * 10,
    "two_shards": [7, 6],
    "three_to_eight": [3, 4, 5, 6, 7, 8],
    "one_huge": [1, 40, 2],
}
"""Samples of each shard. Split by shards, these would give ranks 15 and 10 samples, or none at all."""

TINY = [0, 1, 3, 5]
"""Samples of a dataset: none, one, fewer than ranks, a few more."""

BATCH_SIZE = 3


def cases(shards):
    """Every dataset under every tail, shuffled and not."""
    found = {}
    for tail in ("drop", "pad", "keep"):
        for name in UNEVEN:
            found[f"{name}-{tail}"] = {"shards": str(shards / name), "shuffle": True, "tail": tail}
        for num in TINY:
            found[f"tiny{num}-{tail}"] = {"num": num, "shuffle": num % 2 == 1, "tail": tail}
    found["tiny5-pad"] |= {"engine": "processes"}  # ranks whose workers are processes too
    return found


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    folder = tmp_path_factory.mktemp("uneven")
    for name, counts in UNEVEN.items():
        (folder / name).mkdir()
        with hr.ShardWriter(str(folder / name / "%03d.tar"), counts=counts) as writer:
            for number in range(sum(counts)):
                writer.write({"__key__": f"{number:06d}", "cls": number})
    return folder


@pytest.fixture(scope="module", params=[2, 4], ids=["2 ranks", "4 ranks"])
def delivered(request, shards, tmp_path_factory):
    """Case -> rank -> epochs."""
    folder = tmp_path_factory.mktemp("delivered")
    plan = [{"name": name, "batch_size": BATCH_SIZE, "epochs": 2} | case for name, case in cases(shards).items()]
    (folder / "plan.json").write_text(json.dumps(plan))
    run_on_ranks("deliver.py", request.param, folder / "plan.json", folder)
    ranks = [json.loads((folder / f"rank{rank}.json").read_text()) for rank in range(request.param)]
    return {name: [rank[name] for rank in ranks] for name in ranks[0]}


def num_samples(name):
    dataset = name.rpartition("-")[0]
    return int(dataset.removeprefix("tiny")) if dataset.startswith("tiny") else sum(UNEVEN[dataset])


def epochs_of(delivered):
    """(case, what every rank was given in one epoch)."""
    for name, ranks in delivered.items():
        for epoch in zip(*ranks, strict=True):
            yield name, epoch


def test_ranks_make_equal_steps(delivered):
    for name, ranks in epochs_of(delivered):
        global_batch, total = BATCH_SIZE * len(ranks), num_samples(name)
        whole, rest = divmod(total, global_batch)
        expected = whole + (rest > 0 and not name.endswith("drop"))
        assert [len(rank["steps"]) for rank in ranks] == [expected] * len(ranks), name
        assert [rank["len"] for rank in ranks] == [expected] * len(ranks), name
        assert all(len(ids) == BATCH_SIZE for rank in ranks for ids, _ in rank["steps"]), name


def test_every_sample_comes_once(delivered):
    for name, ranks in epochs_of(delivered):
        rows = [row for rank in ranks for ids, valid in rank["steps"] for row in zip(ids, valid, strict=True)]
        good = [sample for sample, is_valid in rows if is_valid]
        total, global_batch = num_samples(name), BATCH_SIZE * len(ranks)
        assert len(set(good)) == len(good), name
        assert len(good) == (total - total % global_batch if name.endswith("drop") else total), name
        assert len(rows) - len(good) < global_batch, name


def test_padding_comes_last_and_is_marked(delivered):
    for name, ranks in epochs_of(delivered):
        early = chain.from_iterable(valid for rank in ranks for _, valid in rank["steps"][:-1])
        assert all(early), name


def test_epochs_differ_by_themselves(delivered):
    for name, ranks in delivered.items():
        if not name.startswith("tiny"):
            first, second = ([rank[epoch]["steps"] for rank in ranks] for epoch in (0, 1))
            assert first != second, name
