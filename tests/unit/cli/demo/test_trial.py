from __future__ import annotations

from dataclasses import replace

from headrace.cli.demo.trial import TRIAL_STEPS, try_workers


def test_fastest_is_chosen(make_result):
    rates = {0: 100.0, 1: 300.0, 2: 200.0}
    plans, tried = [], []

    def run(plan):
        plans.append(plan)
        return replace(make_result(later_samples_per_s=rates[plan.num_workers]), plan=plan)

    plan = make_result().plan
    assert try_workers(plan, on_trial=tried.append, run=run) == 1
    assert [plan.num_workers for plan in plans] == [0, 1, 2]
    assert {(plan.side, plan.num_epochs, plan.max_steps) for plan in plans} == {("stock", 1, TRIAL_STEPS)}
    assert [result.later_samples_per_s for result in tried] == [200.0, 600.0, 400.0]
