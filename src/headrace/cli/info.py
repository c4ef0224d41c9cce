"""The command `headrace info`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from headrace._base.units import count, format_bytes
from headrace.cli.class_line import class_line
from headrace.cli.field_line import field_line
from headrace.cli.output import AsJson, note, progress, show
from headrace.errors import one_line
from headrace.pack import advise
from headrace.shards import DatasetIndex, ShardIndex, expand_urls

EXAMPLES = (
    "headrace info shards/train",
    "headrace info 'shards/train-{000000..000146}.tar' --ranks 64",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One field of the sample that is shown."""

    field: str
    size_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Info:
    """What is in some shards."""

    num_shards: int
    num_samples: int
    size_bytes: int
    smallest_shard_bytes: int
    largest_shard_bytes: int
    fewest_samples: int
    most_samples: int
    fields: tuple[str, ...]
    class_names: tuple[str, ...] | None
    first_key: str | None
    """Key of the first sample."""
    first_members: tuple[Member, ...]
    notes: tuple[str, ...]


def info(
    shards: Annotated[list[str], typer.Argument(help="Shards: files, folders, patterns.", metavar="SHARDS")],
    *,
    ranks: Annotated[int | None, typer.Option(min=1, help="Ranks that will train: are there enough shards?")] = None,
    as_json: AsJson = False,
) -> None:
    """Shows what is in shards: how many samples, which fields, how large, and what to mend before training."""
    names = expand_urls(shards)
    with progress() as display:
        bar = display.add_task("Reading indices", total=len(names))
        dataset = DatasetIndex.open(names, on_progress=lambda num_done, _: display.update(bar, completed=num_done))
    first = next((ShardIndex.open(shard.url) for shard in dataset.shards if shard.num_samples), None)
    result = describe(dataset, first, ranks)
    show(summary(result), result, as_json=as_json)
    if not as_json:
        for text in result.notes:
            note(text)


def describe(dataset: DatasetIndex, first: ShardIndex | None, num_ranks: int | None) -> Info:
    """The facts of a dataset, and the first sample as an example."""
    members = () if first is None else first.table.members_of(0)
    notes = advise(dataset.sizes.tolist(), num_ranks)
    if not dataset.num_samples:
        notes = (*notes, "the shards hold no samples")
    return Info(
        num_shards=len(dataset.shards),
        num_samples=dataset.num_samples,
        size_bytes=int(dataset.sizes.sum()),
        smallest_shard_bytes=int(dataset.sizes.min()),
        largest_shard_bytes=int(dataset.sizes.max()),
        fewest_samples=int(dataset.samples.min()),
        most_samples=int(dataset.samples.max()),
        fields=dataset.fields,
        class_names=dataset.class_names,
        first_key=None if first is None else first.key(0),
        first_members=tuple(Member(field=field, size_bytes=size) for field, _, size in members),
        notes=notes,
    )


def summary(result: Info) -> str:
    """The facts as lines."""
    sizes = span(format_bytes(result.smallest_shard_bytes), format_bytes(result.largest_shard_bytes))
    each = span(f"{result.fewest_samples:,}", count(result.most_samples, "sample"))
    if result.fewest_samples == result.most_samples:
        each = count(result.most_samples, "sample")
    samples, shards = count(result.num_samples, "sample"), count(result.num_shards, "shard")
    lines = [
        f"{samples} in {shards}, {format_bytes(result.size_bytes)}",
        f"  shards   {sizes}, {each} each",
        f"  fields   {field_line(result.fields)}",
    ]
    if result.class_names is not None:
        lines.append(f"  classes  {class_line(result.class_names)}")
    if result.first_key is not None:
        members = [f"{member.field} {format_bytes(member.size_bytes)}" for member in result.first_members]
        lines.append(f"  first    {one_line(result.first_key)}: {field_line(members)}")
    return "\n".join(lines)


def span(least: str, most: str) -> str:
    """`"1 KiB to 2 KiB"`, or one of them where both read the same."""
    return least if least == most else f"{least} to {most}"
