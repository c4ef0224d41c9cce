"""The command `headrace index`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from headrace._base.units import count, format_bytes
from headrace.cli.class_line import class_line
from headrace.cli.field_line import field_line
from headrace.cli.output import AsJson, note, progress, show
from headrace.errors import StorageError
from headrace.shards import DatasetIndex, expand_urls
from headrace.shards.dataset_index import class_names_of
from headrace.shards.urls import INDEX_NAME

EXAMPLES = (
    "headrace index shards/train",
    "headrace index 'shards/train-{000000..000146}.tar' --no-dataset-index",
    "headrace index shards/train --classes 'json:objects[].category'",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Indexed:
    """What was indexed."""

    num_shards: int
    num_samples: int
    size_bytes: int
    fields: tuple[str, ...]
    class_names: tuple[str, ...] | None
    """What the dataset index holds; None where it holds none."""
    dataset_index: str | None
    """Where the dataset index was written; None where it was not."""


def index(
    shards: Annotated[list[str], typer.Argument(help="Shards: files, folders, patterns.", metavar="SHARDS")],
    *,
    workers: Annotated[int, typer.Option(min=1, help="Threads that scan.")] = 8,
    no_dataset_index: Annotated[
        bool, typer.Option("--no-dataset-index", help="Write no index.json beside the shards.")
    ] = False,
    classes: Annotated[
        str | None,
        typer.Option(
            help="Field with class names, as json:label.name: they are kept for classes='auto'.", metavar="FIELD"
        ),
    ] = None,
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
        if classes is not None:
            labels_bar = display.add_task("Reading labels", total=found.num_samples)
            found = with_classes(found, classes, lambda num_done: display.update(labels_bar, completed=num_done))
    path, facts = (None, found.extra) if no_dataset_index else save(found, names)
    result = Indexed(
        num_shards=len(names),
        num_samples=found.num_samples,
        size_bytes=int(found.sizes.sum()),
        fields=found.fields,
        class_names=class_names_of(facts),
        dataset_index=path,
    )
    show(summary(result), result, as_json=as_json)


def with_classes(found: DatasetIndex, classes: str, on_progress: Callable[[int], None]) -> DatasetIndex:
    """The index with the class names that a field of its samples has."""
    from headrace.datasets.class_search import find_class_names, label_field

    names = find_class_names(found, label_field(classes), on_progress)
    return replace(found, extra={"class_names": list(names)})


def save(found: DatasetIndex, names: list[str]) -> tuple[str | None, Mapping[str, Any]]:
    """Writes index.json beside the shards if they lie in one folder; facts of an older one are kept.

    Returns:
        Its path, None where it was not written; the facts that it holds, or would hold.
    """
    folders = {Path(name).parent for name in names}
    if len(folders) > 1:
        note("the shards lie in several folders: no index.json was written")
        return None, found.extra
    path = folders.pop() / INDEX_NAME
    facts = {**(DatasetIndex.open(path).extra if path.exists() else {}), **found.extra}
    try:
        found.save(path, extra=facts)
    except StorageError as error:
        note(f"index.json was not written: {error}")
        return None, facts
    return str(path), facts


def summary(result: Indexed) -> str:
    """The result in a line or two."""
    samples, shards = count(result.num_samples, "sample"), count(result.num_shards, "shard")
    lines = [
        f"{samples} in {shards}, {format_bytes(result.size_bytes)}",
        f"  fields   {field_line(result.fields)}",
    ]
    if result.class_names is not None:
        lines.append(f"  classes  {class_line(result.class_names)}")
    if result.dataset_index:
        lines.append(f"  wrote    {result.dataset_index}")
    return "\n".join(lines)
