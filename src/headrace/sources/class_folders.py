"""A folder of folders of images, each folder a class, as torchvision's ImageFolder reads it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeVar

from headrace.errors import SourceError
from headrace.sources.folders import IMAGE_EXTENSIONS, Folder

Noted = TypeVar("Noted")


def class_of(folder: Folder[Noted]) -> str:
    """The class that the images of a folder have; empty for the root."""
    return folder.path.partition("/")[0]


def class_names_of(folders: Sequence[Folder[Noted]]) -> tuple[str, ...]:
    """The classes, sorted: a label is a position here."""
    return tuple(sorted({class_of(folder) for folder in folders} - {""}))


def class_by_class(folders: Sequence[Folder[Noted]]) -> list[Folder[Noted]]:
    """The folders with images in the order of torchvision's ImageFolder."""
    return sorted((folder for folder in folders if folder.path), key=lambda folder: (class_of(folder), folder.path))


def check_classes(num_images: int, empty: Collection[str], root: str) -> None:
    """Refuses a tree without images, and classes without images."""
    if not num_images:
        raise SourceError(
            "no images in the folders of the source",
            path=root,
            accepted=f"FOLDER/CLASS/IMAGE with {', '.join(sorted(IMAGE_EXTENSIONS))}",
            remedy="Images that lie side by side with their labels: --source siblings; a list: name its file.",
        )
    if empty:
        raise SourceError(
            "class folders without an image: their labels would never come",
            got=", ".join(sorted(empty)),
            path=root,
            remedy="Remove the empty folders.",
        )
