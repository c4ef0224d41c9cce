from __future__ import annotations

import io
import json
from dataclasses import replace

from rich.console import Console

from headrace.cli.demo.report import Comparison


def text_of(thing):
    # As the command line prints: nothing in square brackets is an instruction.
    console = Console(file=io.StringIO(), width=100, color_system=None, markup=False)
    console.print(thing)
    return console.file.getvalue()


def compare(make_result, **stock):
    ours = make_result(num_samples=1280, peak_memory_bytes=2 << 30)
    ours = replace(ours, plan=replace(ours.plan, side="headrace", num_workers=None))
    return Comparison(stock=make_result(**stock), headrace=ours)


def test_table_tells_every_figure(make_result):
    text = text_of(compare(make_result).table())
    for figure in ("256", "512", "22.5%", "0.70 s", "3.00 GiB", "2.00 GiB", "50.0%", "2.00 x", "(1 worker a rank)"):
        assert figure in text
    assert "[" not in text


def test_sleep_is_owned_up_to(make_result):
    with_sleep = make_result()
    comparison = replace(compare(make_result), stock=replace(with_sleep, plan=replace(with_sleep.plan, step_ms=80.0)))
    assert "slept 80 ms" in comparison.note()
    assert "slept 80 ms" in text_of(comparison.table())
    assert "No accelerator was imitated" in compare(make_result).note()


def test_json_holds_the_same_figures(make_result):
    figures = json.loads(json.dumps(compare(make_result).to_json()))
    assert figures["speed_up"] == 2.0
    assert figures["stock"]["num_workers"] == 1
    assert figures["headrace"]["samples_per_s"] == 512.0
    assert len(figures["headrace"]["ranks"]) == 2
