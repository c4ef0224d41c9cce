"""A rank dies, the job starts again on another number of ranks: what was trained on is one uninterrupted run."""

from __future__ import annotations

import headrace as hr
from headrace.pack import PackOptions, pack
from tests.distributed.scripts.train import NUM_EPOCHS, make_loader, rows_of
from tests.distributed.torchrun import read_lines, torchrun

GLOBAL_BATCH = 12
CHECKPOINT_EVERY = 2


def steps_of(folder, life, num_ranks):
    """Step -> (epoch, the rows of all ranks) of those steps that every rank has begun."""
    ranks = [read_lines(folder / f"life{life}-rank{rank}.jsonl") for rank in range(num_ranks)]
    return {
        parts[0]["step"]: (parts[0]["epoch"], [row for part in parts for row in part["rows"]])
        for parts in zip(*ranks, strict=False)
    }


def uninterrupted(shards):
    """The same run in one process of one rank, without a stop."""
    loader = make_loader(shards, GLOBAL_BATCH, topology=hr.Topology())
    batches = [
        (loader.epoch, rows_of(images, index, valid)) for _ in range(NUM_EPOCHS) for images, _, index, valid in loader
    ]
    return dict(enumerate(batches))


def test_steps_before_the_checkpoint_and_after_it_are_one_run(photographs, tmp_path):
    pack(str(photographs), str(tmp_path / "shards"), PackOptions(samples_per_shard=7, name="train"))
    shards, checkpoint = str(tmp_path / "shards"), tmp_path / "checkpoint.pt"
    expected = uninterrupted(shards)
    trained, step = {}, 0
    # Five steps an epoch. Of two ranks one dies in the last step of epoch 0. The launcher starts both again in place,
    # and one dies in the second step of epoch 2, when the last checkpoint lies exactly at the end of epoch 1. Four
    # ranks make the rest.
    for num_ranks, deaths in ((2, [4, 11]), (4, [-1])):
        folder = tmp_path / f"{num_ranks}-ranks"
        folder.mkdir()
        arguments = (shards, folder, checkpoint, GLOBAL_BATCH // num_ranks, CHECKPOINT_EVERY, *deaths)
        done = torchrun("train.py", num_ranks, *arguments, num_restarts=len(deaths) - 1)
        assert (done.returncode == 0) == (deaths == [-1]), done.stderr[-4000:]
        for life, dies_at in enumerate(deaths):
            begun = steps_of(folder, life, num_ranks)
            assert min(begun) == step
            # What came after the last checkpoint is lost with the model that had learnt from it.
            step = (dies_at if dies_at >= 0 else max(begun) + 1) // CHECKPOINT_EVERY * CHECKPOINT_EVERY
            trained |= {number: rows for number, rows in begun.items() if number < step or dies_at < 0}
    assert len(trained) == NUM_EPOCHS * -(-60 // GLOBAL_BATCH)
    assert trained == expected
