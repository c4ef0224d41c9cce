"""`torchvision.datasets.ImageFolder` as it is, without packing."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from headrace.datasets.field import field
from headrace.datasets.fields import Entry, SampleShape
from headrace.datasets.file_source import FileSource
from headrace.datasets.files.builder import TableBuilder
from headrace.datasets.files.leaves import ValueLeafFacts, any_file
from headrace.datasets.files.table import FileTable
from headrace.datasets.shared.share import share
from headrace.sources.names import split_path

PIECE = 1 << 14
"""Paths that are packed together."""

SHAPE = SampleShape(
    shape="tuple",
    entries=(Entry(name="image", field=field("jpg")), Entry(name="label", field=field("cls"))),
)


def is_plain_image_folder(dataset: object) -> bool:
    """Whether this is an `ImageFolder` (or `DatasetFolder` of images) whose samples are what its files hold.

    A subclass with its own `__getitem__`, another loader function, or another image backend is not: only Python knows
    what its samples are.
    """
    folder = sys.modules.get("torchvision.datasets.folder")
    if folder is None or not isinstance(dataset, folder.ImageFolder):
        return False
    own_items = type(dataset).__getitem__ is folder.DatasetFolder.__getitem__
    own_getitems = hasattr(type(dataset), "__getitems__")
    plain_loader = dataset.loader is folder.default_loader
    return own_items and not own_getitems and plain_loader and _uses_pillow()


def folder_source(dataset: Any) -> FileSource:
    """The files and labels of an `ImageFolder`, as a table that worker processes share."""
    builder, prefix, samples = TableBuilder(), str(dataset.root).rstrip("/") + "/", dataset.samples
    for first in range(0, len(samples), PIECE):
        split = [split_path(relative(path, prefix)) for path, _ in samples[first : first + PIECE]]
        builder.add_stems("image", [stem for stem, _ in split])
        builder.add_files("image", "image", [suffix for _, suffix in split])
        builder.end_piece(len(split))
    builder.set_labels("label", np.array([label for _, label in samples], dtype=np.int64))
    packed = builder.finish(["image", "label"], kind="image-folder", root=str(Path(dataset.root).absolute()))
    table = FileTable(share(packed, "auto"))
    image, label = table.facts.columns
    return FileSource(table, (any_file("image", image), ValueLeafFacts(name="label", column=label)))


def relative(path: str, prefix: str) -> str:
    """A path below the root without it; another one as it is found from anywhere."""
    return path.removeprefix(prefix) if path.startswith(prefix) else str(Path(path).absolute())


def folder_transform(dataset: Any) -> dict[str, Any]:
    """What `ImageFolder.__getitem__` does to image and label: each on its own."""
    return {"image": dataset.transform, "label": dataset.target_transform}


def _uses_pillow() -> bool:
    torchvision = sys.modules.get("torchvision")
    return torchvision is not None and torchvision.get_image_backend() == "PIL"
