"""The command `headrace try`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from headrace.cli.output import AsJson
from headrace.errors import SourceError

EXAMPLES = (
    "headrace try photos/train",
    "headrace try 'shards/train-{000000..000146}.tar' --seconds 20 --workers 8",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What both loaders delivered."""

    speedup: float
    """Ours by stock, samples a second after the first batch."""
    ours_samples_per_s: float
    stock_samples_per_s: float
    ours_first_batch_s: float
    stock_first_batch_s: float
    num_workers: int
    batch_size: int
    paste: tuple[str, ...]
    """Lines for the user's code."""
    explain: str
    """What our loader decided, and why."""


def try_speed(
    source: Annotated[str, typer.Argument(help="A folder of images, or shards.", metavar="FOLDER|SHARDS")],
    *,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long each loader is measured.")] = 5.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Images a batch.")] = 64,
    size: Annotated[int, typer.Option(min=1, metavar="PIXELS", help="Edge of the crops.")] = 224,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Workers of both loaders. Default: one for each CPU at hand.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Shows what headrace would do for you: your images, a stock loader beside ours, one number.

    Both loaders do the same work with the same number of workers: read, decode, RandomResizedCrop, flip, normalise,
    batch. They take turns, so that neither alone has the files in memory already. Nothing is written.
    """
    from headrace._base.machine import affinity_cpus
    from headrace.cli.images import open_images
    from headrace.cli.output import show

    num_workers = affinity_cpus() if workers is None else workers
    with open_images(source, size, batch_size) as images:
        trial = run_trial(images, batch_size, num_workers, seconds)
    show(summary(trial), trial, as_json=as_json)


def run_trial(images: Any, batch_size: int, num_workers: int, duration_s: float) -> Trial:
    """Measures both loaders in turns: stock, ours, ours, stock."""
    import torch

    from headrace.cli.output import progress
    from headrace.cli.timing import measure, together
    from headrace.loader.data_loader import DataLoader

    stock = torch.utils.data.DataLoader(
        images.stock,
        batch_size=batch_size,
        shuffle=True,
        num_workers=num_workers,
        persistent_workers=num_workers > 0,
    )
    ours: Any = DataLoader(images.ours, batch_size=batch_size, shuffle=True, num_workers=num_workers)
    loaders: dict[str, Any] = {"stock": stock, "ours": ours}
    timings: dict[str, list[Any]] = {"stock": [], "ours": []}
    with progress() as display:
        bar = display.add_task("Measuring", total=4)
        for name in ("stock", "ours", "ours", "stock"):
            display.update(bar, description=f"Measuring the {name} loader" if name == "stock" else "Measuring ours")
            try:
                timings[name].append(measure(loaders[name], duration_s / 2))
            except Exception as error:
                if name == "ours":
                    raise
                raise stock_failure(error) from error
            display.advance(bar)
    explained = ours.explain()
    ours.close()
    mine, theirs = together(timings["ours"]), together(timings["stock"])
    return Trial(
        speedup=mine.samples_per_s / theirs.samples_per_s,
        ours_samples_per_s=mine.samples_per_s,
        stock_samples_per_s=theirs.samples_per_s,
        ours_first_batch_s=mine.first_batch_s,
        stock_first_batch_s=theirs.first_batch_s,
        num_workers=num_workers,
        batch_size=batch_size,
        paste=images.paste,
        explain=explained,
    )


def stock_failure(error: Exception) -> SourceError:
    """What to say where the stock loader fails; its workers put a whole traceback into their message."""
    lines = [line for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return SourceError(
        "torch's DataLoader fails on these images, so there is nothing to compare with",
        got=lines[-1],
        remedy="`headrace verify --decode` finds damaged images in shards; `headrace bench` needs no stock loader",
    )


def summary(trial: Trial) -> str:
    """The one number, what it is made of, and the lines to paste."""
    from headrace._base.units import count, format_rate, format_seconds

    rates = {
        "torch": (trial.stock_samples_per_s, trial.stock_first_batch_s),
        "headrace": (trial.ours_samples_per_s, trial.ours_first_batch_s),
    }
    lines = [f"{trial.speedup:.1f} x as fast as torch's DataLoader on these images", ""]
    for name, (rate, first_s) in rates.items():
        lines.append(f"  {name:9} {format_rate(rate, 'samples')}, first batch after {format_seconds(first_s)}")
    lines += [f"  both with {count(trial.num_workers, 'worker')} and batches of {trial.batch_size}", "", *trial.paste]
    return "\n".join(lines)
