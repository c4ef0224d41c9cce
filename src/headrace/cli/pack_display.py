"""How `headrace pack` shows its work and its result."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.progress import Progress, TaskID

from headrace._base.units import count, format_byte_rate, format_bytes, format_rate, format_seconds
from headrace.cli.output import note, progress, show
from headrace.codecs import kind_of
from headrace.pack import OnProgress, PackProgress, PackReport

TITLES = {
    "list": "Listing the source",
    "check": "Checking finished shards",
    "resize": "Resizing",
    "write": "Writing shards",
}


@contextmanager
def progress_display() -> Iterator[OnProgress]:
    """A bar for each stage; gives the function that takes the progress."""
    with progress("{task.fields[size]}") as display:
        bars: dict[str, TaskID] = {}

        def on_progress(now: PackProgress) -> None:
            advance(display, bars, now)

        yield on_progress


def advance(display: Progress, bars: dict[str, TaskID], now: PackProgress) -> None:
    """Moves the bar of a stage; the first call makes it."""
    if now.stage not in bars:
        bars[now.stage] = display.add_task(TITLES[now.stage], total=now.num_total, size="")
    size = format_bytes(now.size_bytes) if now.size_bytes else ""
    display.update(bars[now.stage], completed=now.num_done, total=now.num_total, size=size)


def present(report: PackReport, *, as_json: bool) -> None:
    """Prints the result, and the notes on standard error."""
    show(summary(report), report, as_json=as_json)
    if not as_json:
        for text in report.notes:
            note(text)


def summary(report: PackReport) -> str:
    """The result in a few lines."""
    samples, shards = count(report.num_samples, "sample"), count(len(report.shards), "shard")
    lines = [
        f"{samples} in {shards}, {format_bytes(report.size_bytes)}, in {report.destination}",
        f"  source   {report.kind}: {report.kind_reason}",
        f"  fields   {', '.join(report.fields)}",
    ]
    if report.class_names is not None:
        names = ", ".join(report.class_names[:6]) + (", ..." if len(report.class_names) > 6 else "")
        lines.append(f"  classes  {len(report.class_names)}: {names} (in index.json)")
    if report.num_ignored:
        lines.append(f"  ignored  {count(report.num_ignored, 'file')} that belong to no sample")
    if report.num_resized is not None:
        lines.append(f"  resized  {count(report.num_resized, 'image')}")
    if report.num_kept_shards:
        lines.append(f"  kept     {count(report.num_kept_shards, 'shard')} that an earlier run had finished")
    rate = f"{format_rate(report.num_samples / report.wall_s, 'samples')}"
    lines.append(
        f"  time     {format_seconds(report.wall_s)}, {rate}, {format_byte_rate(report.size_bytes / report.wall_s)}"
    )
    pattern = f"{report.destination}/{report.shards[0]}" if len(report.shards) == 1 else braces(report)
    lines.append(f'\nTrain from it: hr.ShardDataset("{pattern}", fields={shape(report.fields)}, transform=transform)')
    return "\n".join(lines)


def shape(fields: tuple[str, ...]) -> str:
    """The argument `fields`: images first, as training loops have them."""
    names = sorted(fields, key=lambda field: (kind_of(field) != "image", field))
    return f'"{names[0]}"' if len(names) == 1 else "(" + ", ".join(f'"{name}"' for name in names) + ")"


def braces(report: PackReport) -> str:
    """The shards as one pattern."""
    first, last = (name.removesuffix(".tar").rpartition("-") for name in (report.shards[0], report.shards[-1]))
    return f"{report.destination}/{first[0]}-{{{first[2]}..{last[2]}}}.tar"
