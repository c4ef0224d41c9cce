"""Finds the setting with which the stock loader is at its best, so that the comparison is with a careful user."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from headrace.cli.demo.plan import RunPlan, RunResult

CHOICES = (0, 1, 2)
"""Worker processes a rank that are tried."""

TRIAL_STEPS = 16


def try_workers(
    plan: RunPlan,
    *,
    choices: Sequence[int] = CHOICES,
    on_trial: Callable[[RunResult], None],
    run: Callable[[RunPlan], RunResult],
) -> int:
    """The number of workers a rank with which a short run is fastest after its first batch.

    Args:
        plan: The run that is to follow.
        choices: Numbers of workers to try.
        on_trial: Called with the result of each trial.
        run: Runs a plan.
    """
    rates = {}
    for num_workers in choices:
        result = run(replace(plan, num_workers=num_workers, num_epochs=1, max_steps=TRIAL_STEPS))
        on_trial(result)
        rates[num_workers] = result.later_samples_per_s
    return max(rates, key=lambda num_workers: rates[num_workers])
