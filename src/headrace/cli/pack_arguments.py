"""Arguments and options of `headrace pack`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

IMAGES = "Images"
LISTS = "Lists (CSV, TSV, JSON lines, Parquet)"


class SourceChoice(StrEnum):
    """Values of `--source`."""

    AUTO = "auto"
    IMAGE_FOLDER = "image-folder"
    SIBLINGS = "siblings"
    LIST = "list"
    SHARDS = "shards"


Source: TypeAlias = Annotated[str, typer.Argument(help="A folder, a list of files, or shards.", metavar="SRC")]
Destination: TypeAlias = Annotated[str, typer.Argument(help="Folder for the shards.", metavar="DST")]

Kind: TypeAlias = Annotated[
    SourceChoice, typer.Option("--source", help="What SRC is. auto: found out by looking at it.")
]
ShardSize: TypeAlias = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Largest size of a shard, as 500MiB or 4GB. Default: 2GiB.")
]
SamplesPerShard: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Largest number of samples of a shard, instead of a size.")
]
ShuffleSeed: TypeAlias = Annotated[int, typer.Option(help="Seed of the order of the samples.")]
NoShuffle: TypeAlias = Annotated[bool, typer.Option("--no-shuffle", help="Keep the order of the source.")]
Ranks: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Ranks that will train: say if there are too few shards for them.")
]
Name: TypeAlias = Annotated[str | None, typer.Option(help="Shards are NAME-000000.tar, ... Default: the name of DST.")]
Workers: TypeAlias = Annotated[
    int | None, typer.Option(min=1, help="Threads. The bytes do not depend on their number.")
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace shards of another source or other options in DST.")
]
ReplaceDots: TypeAlias = Annotated[
    bool, typer.Option("--replace-dots", help="a.b.jpg becomes sample a_b; otherwise such names are refused.")
]
AllowPickle: TypeAlias = Annotated[
    list[str] | None, typer.Option(metavar="EXTENSION", help="Pack files that can run code when read, as pkl.")
]

ResizeShorter: TypeAlias = Annotated[
    int | None,
    typer.Option(min=1, metavar="PIXELS", help="Shrink JPEGs to this shorter edge.", rich_help_panel=IMAGES),
]
Quality: TypeAlias = Annotated[
    int, typer.Option(min=1, max=100, help="JPEG quality of shrunken images.", rich_help_panel=IMAGES)
]
KeepDamaged: TypeAlias = Annotated[
    bool,
    typer.Option("--keep-damaged", help="Pack images that cannot be decoded as they are.", rich_help_panel=IMAGES),
]

PathColumn: TypeAlias = Annotated[
    str | None, typer.Option(help="Column of the path. Default: by name.", rich_help_panel=LISTS)
]
LabelColumn: TypeAlias = Annotated[
    str | None, typer.Option(help="Column of the class. Default: by name; '' for none.", rich_help_panel=LISTS)
]
KeyColumn: TypeAlias = Annotated[
    str | None, typer.Option(help="Column of the key. Default: the path.", rich_help_panel=LISTS)
]
Fields: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN=FIELD", help="A column as a text field of its own.", rich_help_panel=LISTS),
]
