from __future__ import annotations

import pytest

from headrace.cli.demo.plan import RankResult, RunPlan


def test_plan_and_result_survive_their_files(tmp_path, make_result):
    result = make_result()
    result.plan.write(tmp_path / "plan.json")
    result.ranks[0].write(tmp_path / "rank0.json")
    assert RunPlan.read(tmp_path / "plan.json") == result.plan
    assert RankResult.read(tmp_path / "rank0.json") == result.ranks[0]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["plan.json", "rank0.json"]


def test_figures_of_several_ranks(make_result):
    result = make_result()
    assert result.samples_per_s == 1280 / 5.0
    assert result.later_samples_per_s == 300.0
    assert result.waited_share == pytest.approx((1 / 4 + 1 / 5) / 2)
    assert result.first_batch_s == 0.7
    assert result.accuracy == 0.5
