from __future__ import annotations

from dataclasses import replace

import pytest

from headrace.cli.demo.plan import RankResult, RunPlan, RunResult

PLAN = RunPlan(side="stock", photographs="photographs", shards="shards", num_workers=1)
RANK = RankResult(
    num_samples=640, total_s=4.0, waited_s=1.0, first_batch_s=0.5, later_samples_per_s=150.0, accuracy=0.25
)


@pytest.fixture
def make_result():
    """Makes a run's result from what differs."""

    def make(plan=PLAN, peak_memory_bytes=3 << 30, **changes):
        slower = replace(RANK, total_s=5.0, first_batch_s=0.7, accuracy=0.75)
        ranks = tuple(replace(rank, **changes) for rank in (RANK, slower))
        return RunResult(plan=plan, ranks=ranks, peak_memory_bytes=peak_memory_bytes)

    return make
