"""The demo's parts together: real photographs, real shards, real training processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.cli.demo.comparison import DemoOptions, run_demo
from headrace.cli.demo.launch import launch
from headrace.cli.demo.plan import RankResult, RunPlan, RunResult
from headrace.errors import SourceError, WorkerError
from headrace.pack import PackOptions, pack


@pytest.fixture(scope="module")
def plan(photographs, tmp_path_factory):
    shards = tmp_path_factory.mktemp("demo") / "shards"
    pack(str(photographs), str(shards), PackOptions(samples_per_shard=20))
    return RunPlan(side="stock", photographs=str(photographs), shards=str(shards), num_workers=1, batch_size=8)


def test_both_sides_train_on_the_same_number_of_samples(plan):
    seen = []
    stock = launch(plan, seen.append)
    ours = launch(replace(plan, side="headrace", num_workers=None), seen.append)
    # 60 photographs, two ranks, batches of eight: three whole steps an epoch, two epochs.
    assert [rank.num_samples for rank in (*stock.ranks, *ours.ranks)] == [48, 48, 48, 48]
    assert seen[-1] == 6
    for result in (stock, ours):
        assert result.first_batch_s > 0
        assert 0 < result.waited_share < 1
        assert result.peak_memory_bytes > 100 << 20


def test_a_failing_training_tells_its_last_words(plan):
    with pytest.raises(WorkerError, match=r"no_such_folder"):
        launch(replace(plan, photographs="no_such_folder"), lambda _: None)


def canned(plan, on_steps):
    """A run's result without the run: as many samples a second as the plan has workers, ours with more."""
    rate = 10.0 + (plan.num_workers if plan.num_workers is not None else 90)
    rank = RankResult(
        num_samples=int(rate * 10),
        total_s=10.0,
        waited_s=1.0,
        first_batch_s=0.1,
        later_samples_per_s=rate,
        accuracy=0.5,
    )
    on_steps(1)
    return RunResult(plan=plan, ranks=(rank, rank), peak_memory_bytes=1 << 30)


def test_stages_of_a_demo(photographs, tmp_path):
    said = []
    options = DemoOptions(data=photographs, cache=tmp_path, num_photographs=40, batch_size=4, step_ms=5.0, seed=7)
    comparison = run_demo(options, said.append, run=canned)
    assert comparison.stock.plan.num_workers == 2
    same = replace(comparison.stock.plan, side="headrace", num_workers=None)
    assert comparison.headrace.plan == same
    assert (same.seed, same.step_ms, same.num_epochs) == (7, 5.0, 2)
    assert comparison.speed_up == pytest.approx(100 / 12)
    assert said[0] == f"40 photographs of {photographs}"
    assert "torch DataLoader, 0 workers a rank: 20 samples/s in a short trial" in said


def test_too_few_photographs_are_refused(photographs, tmp_path):
    options = DemoOptions(data=photographs, cache=tmp_path, batch_size=64)
    with pytest.raises(SourceError, match=r"too few photographs.*60 photographs, 2 ranks, batches of 64"):
        run_demo(options, lambda _: None, run=canned)
