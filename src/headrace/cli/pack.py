"""The command `headrace pack`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from headrace.cli.output import AsJson


class SourceChoice(StrEnum):
    """Values of `--source`."""

    AUTO = "auto"
    IMAGE_FOLDER = "image-folder"
    SIBLINGS = "siblings"
    LIST = "list"
    SHARDS = "shards"


LIST_PANEL = "Lists (CSV, TSV, JSON lines, Parquet)"
IMAGE_PANEL = "Images"


def pack(
    source: Annotated[str, typer.Argument(help="A folder, a list of files, or shards.", metavar="SRC")],
    destination: Annotated[str, typer.Argument(help="Folder for the shards.", metavar="DST")],
    *,
    kind: Annotated[
        SourceChoice, typer.Option("--source", help="What SRC is. auto: found out by looking at it.")
    ] = SourceChoice.AUTO,
    shard_size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Largest size of a shard, as 500MiB or 4GB. Default: 2GiB.")
    ] = None,
    samples_per_shard: Annotated[
        int | None, typer.Option(min=1, help="Largest number of samples of a shard, instead of a size.")
    ] = None,
    shuffle_seed: Annotated[int, typer.Option(help="Seed of the order of the samples.")] = 0,
    no_shuffle: Annotated[bool, typer.Option("--no-shuffle", help="Keep the order of the source.")] = False,
    name: Annotated[str | None, typer.Option(help="Shards are NAME-000000.tar, ... Default: the name of DST.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Threads. The bytes do not depend on it.")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace shards of another source or other options in DST.")
    ] = False,
    replace_dots: Annotated[
        bool, typer.Option("--replace-dots", help="a.b.jpg becomes sample a_b; otherwise such names are refused.")
    ] = False,
    resize_shorter: Annotated[
        int | None,
        typer.Option(min=1, metavar="PIXELS", help="Shrink JPEGs to this shorter edge.", rich_help_panel=IMAGE_PANEL),
    ] = None,
    quality: Annotated[
        int, typer.Option(min=1, max=100, help="JPEG quality of shrunken images.", rich_help_panel=IMAGE_PANEL)
    ] = 90,
    keep_damaged: Annotated[
        bool,
        typer.Option(
            "--keep-damaged", help="Pack images that cannot be decoded as they are.", rich_help_panel=IMAGE_PANEL
        ),
    ] = False,
    path_column: Annotated[
        str | None, typer.Option(help="Column of the path. Default: by name.", rich_help_panel=LIST_PANEL)
    ] = None,
    label_column: Annotated[
        str | None,
        typer.Option(help="Column of the class. Default: by name; '' for none.", rich_help_panel=LIST_PANEL),
    ] = None,
    key_column: Annotated[
        str | None, typer.Option(help="Column of the key. Default: the path.", rich_help_panel=LIST_PANEL)
    ] = None,
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=FIELD", help="A column as a text field of its own.", rich_help_panel=LIST_PANEL),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Packs images, lists or shards into tar shards, ready to train from.

    SRC is recognised by itself: a folder of class folders (CLASS/image.jpg), files that share a name (a.jpg a.txt
    a.json), a list with a column of paths and one of labels, or existing shards, which are mixed and cut anew.
    Stopped at any point, the same command goes on where it stopped and ends with the same bytes.

    Examples:

        headrace pack photos/train shards/train

        headrace pack photos/train shards/train --resize-shorter 256 --quality 90

        headrace pack list.csv shards/train --field caption=txt --samples-per-shard 10000

        headrace pack 'old/part-{000..099}.tar' shards/train --shard-size 4GiB
    """
    from headrace._base.units import parse_bytes
    from headrace.cli.pack_display import present, progress_display
    from headrace.pack import ListOptions, PackOptions, ResizeOptions
    from headrace.pack import pack as run

    resize = None
    if resize_shorter is not None:
        resize = ResizeOptions(shorter_px=resize_shorter, quality=quality, damaged="keep" if keep_damaged else "raise")
    options = PackOptions(
        source=kind.value,
        name=name,
        shard_size_bytes=None if shard_size is None else parse_bytes(shard_size, name="--shard-size"),
        samples_per_shard=samples_per_shard,
        shuffle=not no_shuffle,
        shuffle_seed=shuffle_seed,
        num_workers=workers,
        resize=resize,
        dots="replace" if replace_dots else "refuse",
        list_options=ListOptions(
            path_column=path_column, label_column=label_column, key_column=key_column, fields=parse_fields(field)
        ),
        overwrite=overwrite,
    )
    with progress_display() as on_progress:
        report = run(source, destination, options, on_progress=on_progress)
    present(report, as_json=as_json)


def parse_fields(texts: list[str] | None) -> dict[str, str]:
    """`["caption=txt"]` as `{"caption": "txt"}`.

    Raises:
        OptionError: Not of this form.
    """
    from headrace.errors import OptionError

    fields = {}
    for text in texts or ():
        column, equals, name = text.rpartition("=")
        if not equals or not column or not name or name.startswith("."):
            raise OptionError("--field is not understood", got=text, accepted="COLUMN=FIELD, for instance caption=txt")
        fields[column] = name
    return fields
