"""The demo from its photographs to its comparison."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

from headrace._base.machine import read_machine
from headrace._base.units import count
from headrace.cli.demo.launch import launch
from headrace.cli.demo.photographs import make_photographs
from headrace.cli.demo.plan import NUM_RANKS, RunPlan, RunResult
from headrace.cli.demo.report import Comparison
from headrace.cli.demo.selection import select_photographs
from headrace.cli.demo.trial import CHOICES, try_workers
from headrace.cli.output import progress
from headrace.errors import SourceError
from headrace.pack import PackOptions, PackProgress, pack

SHARD_SIZE_BYTES = 32 << 20
"""Small, so that a small set still has several shards."""

Say: TypeAlias = Callable[[str], None]
"""Takes a line about what has been done."""

Run: TypeAlias = Callable[[RunPlan, Callable[[int], None]], RunResult]
"""Runs a plan and says now and then how many steps are done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoOptions:
    """What a user can ask of the demo."""

    data: Path | None = None
    """A folder of photographs; None: photographs cut from those in scikit-image and scikit-learn."""
    cache: Path
    """Folder for photographs and shards, kept from one demo to the next."""
    num_photographs: int = 4000
    num_epochs: int = 2
    batch_size: int = 64
    """Rows a batch on each rank."""
    step_ms: float = 0.0
    """A sleep in every step that stands in for an accelerator at work, in milliseconds."""
    seed: int = 0


def run_demo(options: DemoOptions, say: Say, *, run: Run = launch) -> Comparison:
    """Prepares photographs and shards, tries the stock loader's settings, trains twice and compares.

    Args:
        options: What to run.
        say: Takes a line about each stage.
        run: Runs one training.

    Raises:
        SourceError: The folder holds too few photographs.
        WorkerError: A training process failed.
    """
    photographs = prepare_photographs(options, say)
    num_steps = options.num_epochs * steps_an_epoch(photographs, options)
    shards = prepare_shards(photographs, say)
    plan = RunPlan(
        side="stock",
        photographs=str(photographs),
        shards=str(shards),
        num_workers=0,
        batch_size=options.batch_size,
        num_epochs=options.num_epochs,
        step_ms=options.step_ms,
        num_threads=max(1, read_machine().usable_cpus // NUM_RANKS),
        seed=options.seed,
    )
    plan = replace(plan, num_workers=choose_workers(plan, say, run))
    stock = train(plan, num_steps, say, run)
    headrace = train(replace(plan, side="headrace", num_workers=None), num_steps, say, run)
    return Comparison(stock=stock, headrace=headrace)


@contextmanager
def bar(text: str, total: int) -> Iterator[Callable[[int], None]]:
    """A progress bar while the block runs; yields a function that takes the units done so far."""
    with progress() as display:
        task = display.add_task(text, total=total)
        yield lambda done: display.update(task, completed=done)


def prepare_photographs(options: DemoOptions, say: Say) -> Path:
    """The folder tree that the stock loader reads."""
    if options.data is not None:
        folder = options.cache / "selected"
        num = select_photographs(options.data, folder, num=options.num_photographs)
        say(f"{count(num, 'photograph')} of {options.data}")
        return folder
    num = options.num_photographs
    folder = options.cache / f"photographs-{num}-{options.seed}"
    with bar("Cutting photographs", num) as show:
        done = 0

        def on_progress(made: int) -> None:
            nonlocal done
            done += made
            show(done)

        make_photographs(
            folder, num=num, seed=options.seed, num_processes=read_machine().usable_cpus, on_progress=on_progress
        )
    say(f"{count(num, 'photograph')} in {folder}")
    return folder


def steps_an_epoch(photographs: Path, options: DemoOptions) -> int:
    """Steps that each rank makes in an epoch; the samples that fill no global batch are left out.

    Raises:
        SourceError: There is not one whole step.
    """
    num = sum(1 for _ in photographs.glob("*/*"))
    steps = num // (options.batch_size * NUM_RANKS)
    if steps == 0:
        raise SourceError(
            "too few photographs for one step",
            got=f"{count(num, 'photograph')}, {NUM_RANKS} ranks, batches of {options.batch_size}",
            remedy="Name a folder with more of them, or ask for a smaller --batch-size.",
        )
    return steps


def prepare_shards(photographs: Path, say: Say) -> Path:
    """The same photographs, packed."""
    folder = photographs.with_name(f"{photographs.name}-shards")
    with progress() as display:
        task = display.add_task("Packing", total=None)

        def on_progress(now: PackProgress) -> None:
            display.update(task, description=f"Packing: {now.stage}", completed=now.num_done, total=now.num_total)

        report = pack(
            str(photographs),
            str(folder),
            PackOptions(source="image-folder", shard_size_bytes=SHARD_SIZE_BYTES, overwrite=True),
            on_progress=on_progress,
        )
    say(f"{count(len(report.shards), 'shard')} in {folder}")
    return folder


def choose_workers(plan: RunPlan, say: Say, run: Run) -> int:
    """The best number of workers for the stock loader, by a short trial each."""
    with bar("Trying settings of torch's DataLoader", len(CHOICES)) as show:
        tried = itertools.count(1)

        def on_trial(result: RunResult) -> None:
            show(next(tried))
            rate = f"{result.later_samples_per_s:,.0f} samples/s"
            say(f"torch DataLoader, {count(result.plan.num_workers or 0, 'worker')} a rank: {rate} in a short trial")

        return try_workers(plan, on_trial=on_trial, run=lambda trial: run(trial, lambda _: None))


def train(plan: RunPlan, num_steps: int, say: Say, run: Run) -> RunResult:
    """One measured training."""
    name = "Headrace" if plan.side == "headrace" else "torch DataLoader"
    with bar(f"Training, fed by {name}", num_steps) as show:
        result = run(plan, show)
    say(f"Trained, fed by {name}: {result.samples_per_s:,.0f} samples/s")
    return result
