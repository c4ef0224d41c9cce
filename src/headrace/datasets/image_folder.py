"""`torchvision.datasets.ImageFolder` as it is, without packing."""

from __future__ import annotations

import sys
from typing import Any

from headrace.datasets.field import field
from headrace.datasets.fields import Entry, SampleShape
from headrace.datasets.file_source import FileSource

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
    """The files and labels of an `ImageFolder`."""
    paths = [path for path, _ in dataset.samples]
    labels = [label for _, label in dataset.samples]
    return FileSource(paths, labels, root=str(dataset.root), field="image", label_field="label")


def folder_transform(dataset: Any) -> dict[str, Any]:
    """What `ImageFolder.__getitem__` does to image and label: each on its own."""
    return {"image": dataset.transform, "label": dataset.target_transform}


def _uses_pillow() -> bool:
    torchvision = sys.modules.get("torchvision")
    return torchvision is not None and torchvision.get_image_backend() == "PIL"
