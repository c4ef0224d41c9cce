"""The command `headrace demo`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from headrace.cli.output import AsJson, show

EXAMPLES = ("headrace demo", "headrace demo --data photos/train --num 10000", "headrace demo --step-ms 150")


def default_cache() -> Path:
    """Folder for the demo's files: `$HEADRACE_CACHE/demo`, else in the user's cache folder."""
    if "HEADRACE_CACHE" in os.environ:
        return Path(os.environ["HEADRACE_CACHE"], "demo")
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "headrace", "demo")


def demo(
    *,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Your photographs. Default: cut from scikit-image's and scikit-learn's."),
    ] = None,
    num_photographs: Annotated[int, typer.Option("--num", min=1, help="Most photographs to train on.")] = 4000,
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of each training.")] = 2,
    batch_size: Annotated[int, typer.Option(min=1, help="Photographs a batch on each rank.")] = 64,
    step_ms: Annotated[
        float, typer.Option(min=0, help="Sleep in each step that stands in for an accelerator at work, in ms.")
    ] = 0.0,
    seed: Annotated[int, typer.Option(help="Seed of photographs, model and order.")] = 0,
    cache: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Where photographs and shards are kept. Default: your cache.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Trains a small network on two ranks, once fed by torch's DataLoader and once by Headrace, and compares.

    The stock loader runs with the number of workers that is fastest in a short trial. Both sides train the same
    network on the same photographs, in batches of the same size, with the same number of threads.
    """
    from headrace.cli.demo.comparison import DemoOptions, run_demo

    options = DemoOptions(
        data=data,
        cache=cache or default_cache(),
        num_photographs=num_photographs,
        num_epochs=epochs,
        batch_size=batch_size,
        step_ms=step_ms,
        seed=seed,
    )
    comparison = run_demo(options, lambda line: typer.echo(line, err=True))
    show(comparison.table(), comparison.to_json(), as_json=as_json)
