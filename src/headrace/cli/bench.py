"""The command `headrace bench`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headrace.cli.output import AsJson

if TYPE_CHECKING:
    from headrace.engine import StatsSnapshot

EXAMPLES = (
    "headrace bench shards/train",
    "headrace bench 'shards/train-{000000..000146}.tar' --workers 8 --seconds 30 --json",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """What the loader delivered, and what its stages did meanwhile."""

    samples_per_s: float
    first_batch_s: float
    time_s: float
    stats: dict[str, Any]
    """As `loader.stats()` has it."""
    explain: str


def bench(
    source: Annotated[str, typer.Argument(help="Shards, or a folder of images.", metavar="SHARDS")],
    *,
    seconds: Annotated[float, typer.Option(min=0.1, help="How long to measure.")] = 10.0,
    batch_size: Annotated[int, typer.Option(min=1, help="Images a batch.")] = 64,
    size: Annotated[int, typer.Option(min=1, metavar="PIXELS", help="Edge of the crops.")] = 224,
    workers: Annotated[
        int | None, typer.Option(min=0, help="Workers; 0: the caller's thread. Default: as the loader decides.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measures the loader over your shards, stage by stage: where the time goes, and who waits for whom.

    The work is that of a common training: RandomResizedCrop, flip, float, normalised. Busy time adds up over threads;
    samples/s is what one busy thread does. `deliver` waits when no batch is ready, which here is always: this trainer
    does nothing else.
    """
    from headrace.cli.images import open_images
    from headrace.cli.output import progress, show
    from headrace.cli.timing import measure
    from headrace.loader.data_loader import DataLoader

    with open_images(source, size, batch_size) as images:
        num_workers: Any = "auto" if workers is None else workers
        loader: Any = DataLoader(images.ours, batch_size=batch_size, shuffle=True, num_workers=num_workers)
        with progress() as display:
            display.add_task(f"Measuring for {seconds:g} s", total=None)
            timing = measure(loader, seconds)
        stats = loader.stats()
        result = Bench(
            samples_per_s=timing.samples_per_s,
            first_batch_s=timing.first_batch_s,
            time_s=timing.time_s,
            stats=stats.as_dict(),
            explain=loader.explain(),
        )
        loader.close()
    show(report(result, stats), result, as_json=as_json)


def report(result: Bench, stats: StatsSnapshot) -> str:
    """The result as a table."""
    from headrace._base.units import format_rate, format_seconds

    rate, time = format_rate(result.samples_per_s, "samples"), format_seconds(result.time_s)
    first = format_seconds(result.first_batch_s)
    return f"{rate} over {time}, first batch after {first}\n\n{stats}\n\n{result.explain}"
