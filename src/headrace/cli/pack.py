"""The command `headrace pack`."""

from __future__ import annotations

from headrace._base.units import parse_bytes
from headrace.cli import pack_arguments as arguments
from headrace.cli.output import AsJson
from headrace.cli.pack_display import present, progress_display
from headrace.errors import OptionError
from headrace.pack import ListOptions, PackOptions, ResizeOptions
from headrace.pack import pack as pack_source

EXAMPLES = (
    "headrace pack photos/train shards/train",
    "headrace pack photos/train shards/train --resize-shorter 256 --quality 90",
    "headrace pack list.csv shards/train --field caption=txt --samples-per-shard 10000",
    "headrace pack 'old/part-{000..099}.tar' shards/train --shard-size 4GiB",
)

DEFAULT_QUALITY = 90


def pack(
    source: arguments.Source,
    destination: arguments.Destination,
    *,
    kind: arguments.Kind = arguments.SourceChoice.AUTO,
    shard_size: arguments.ShardSize = None,
    samples_per_shard: arguments.SamplesPerShard = None,
    shuffle_seed: arguments.ShuffleSeed = 0,
    no_shuffle: arguments.NoShuffle = False,
    name: arguments.Name = None,
    ranks: arguments.Ranks = None,
    workers: arguments.Workers = None,
    overwrite: arguments.Overwrite = False,
    replace_dots: arguments.ReplaceDots = False,
    allow_pickle: arguments.AllowPickle = None,
    resize_shorter: arguments.ResizeShorter = None,
    quality: arguments.Quality = DEFAULT_QUALITY,
    keep_damaged: arguments.KeepDamaged = False,
    path_column: arguments.PathColumn = None,
    label_column: arguments.LabelColumn = None,
    key_column: arguments.KeyColumn = None,
    field: arguments.Fields = None,
    as_json: AsJson = False,
) -> None:
    """Packs images, lists or shards into tar shards, ready to train from.

    SRC is recognised by itself: class folders (CLASS/image.jpg), files that share a name (a.jpg a.txt a.json), a list
    with a column of paths and one of labels, or existing shards, which are mixed and cut anew. Stopped at any point,
    the same command goes on where it stopped and ends with the same bytes.
    """
    options = PackOptions(
        source=kind.value,
        name=name,
        shard_size_bytes=None if shard_size is None else parse_bytes(shard_size, name="--shard-size"),
        samples_per_shard=samples_per_shard,
        shuffle=not no_shuffle,
        shuffle_seed=shuffle_seed,
        num_ranks=ranks,
        num_workers=workers,
        resize=resize_options(resize_shorter, quality, keep_damaged=keep_damaged),
        dots="replace" if replace_dots else "refuse",
        list_options=ListOptions(
            path_column=path_column, label_column=label_column, key_column=key_column, fields=parse_fields(field)
        ),
        allow_pickle=tuple(allow_pickle or ()),
        overwrite=overwrite,
    )
    with progress_display() as on_progress:
        report = pack_source(source, destination, options, on_progress=on_progress)
    present(report, as_json=as_json)


def resize_options(shorter_px: int | None, quality: int, *, keep_damaged: bool) -> ResizeOptions | None:
    """How images are shrunk, None where they are not."""
    if shorter_px is None:
        if keep_damaged or quality != DEFAULT_QUALITY:
            what = "--quality and --keep-damaged are for images that are shrunk"
            raise OptionError(what, remedy="Add --resize-shorter PIXELS")
        return None
    return ResizeOptions(shorter_px=shorter_px, quality=quality, damaged="keep" if keep_damaged else "raise")


def parse_fields(texts: list[str] | None) -> dict[str, str]:
    """`["caption=txt"]` as `{"caption": "txt"}`.

    Raises:
        OptionError: Not of this form.
    """
    fields = {}
    for text in texts or ():
        column, equals, name = text.rpartition("=")
        if not equals or not column or not name or name.startswith("."):
            raise OptionError("--field is not understood", got=text, accepted="COLUMN=FIELD, for instance caption=txt")
        fields[column] = name
    return fields
