"""The command `headrace index`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from headrace._base.units import format_bytes
from headrace.cli.output import AsJson, note, progress, show
from headrace.errors import StorageError
from headrace.shards import DatasetIndex, expand_urls
from headrace.shards.urls import INDEX_NAME

EXAMPLES = (
    "headrace index shards/train",
    "headrace index 'shards/train-{000000..000146}.tar' --no-dataset-index",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What was indexed."""

    num_shards: int
    num_samples: int
    size_bytes: int
    fields: tuple[str, ...]
    dataset_index: str | None
    """Where the dataset index was written; None where it was not."""


def index(
    shards: Annotated[list[str], typer.Argument(help="Shards: files, folders, patterns.", metavar="SHARDS")],
    *,
    workers: Annotated[int, typer.Option(min=1, help="Threads that scan.")] = 8,
    no_dataset_index: Annotated[
        bool, typer.Option("--no-dataset-index", help="Write no index.json beside the shards.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Writes the index of each shard (x.tar.index), and index.json over all of them.

    With indices, training starts at once; without, the first start scans the shards. Shards whose index is there and
    fresh are not scanned again. Where the folder cannot be written to, shard indices go to the cache folder.
    """
    names = expand_urls(shards)
    with progress() as display:
        bar = display.add_task("Indexing shards", total=len(names))
        found = DatasetIndex.from_shards(
            names, "raise", workers, lambda num_done, _: display.update(bar, completed=num_done)
        )
    path = None if no_dataset_index else save(found, names)
    result = Indexed(
        num_shards=len(names),
        num_samples=found.num_samples,
        size_bytes=int(found.sizes.sum()),
        fields=found.fields,
        dataset_index=path,
    )
    show(summary(result), result, as_json=as_json)


def save(found: DatasetIndex, names: list[str]) -> str | None:
    """Writes index.json beside the shards if they lie in one folder; facts of an older one are kept."""
    folders = {Path(name).parent for name in names}
    if len(folders) > 1:
        note("the shards lie in several folders: no index.json was written")
        return None
    path = folders.pop() / INDEX_NAME
    extra = DatasetIndex.open(path).extra if path.exists() else None
    try:
        found.save(path, extra=extra)
    except StorageError as error:
        note(f"index.json was not written: {error}")
        return None
    return str(path)


def summary(result: Indexed) -> str:
    """The result in a line or two."""
    lines = [
        f"{result.num_samples:,} samples in {result.num_shards:,} shards, {format_bytes(result.size_bytes)}",
        f"  fields   {', '.join(result.fields)}",
    ]
    if result.dataset_index:
        lines.append(f"  wrote    {result.dataset_index}")
    return "\n".join(lines)
