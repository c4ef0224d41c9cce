"""Finds out which columns of a list mean what."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from headrace.errors import SourceError

PATH_NAMES = (
    "path", "file", "filename", "file_name", "filepath", "file_path", "image", "image_path", "img", "img_path",
)  # fmt: skip
LABEL_NAMES = ("label", "cls", "class", "class_id", "class_name", "label_id", "target", "category", "y")
KEY_NAMES = ("key", "__key__")


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """Which columns of a list mean what. None: found by name, in the order of the names above."""

    path_column: str | None = None
    """Column of the file's path, relative to the folder of the list or absolute."""
    label_column: str | None = None
    """Column of the class: integers, or names that are numbered in sorted order. An empty string: no labels."""
    key_column: str | None = None
    """Column of the sample's key; otherwise the path without its extension."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """Columns that become fields of their own, as text: column name -> field, for instance {"caption": "txt"}."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a list by meaning."""

    path: str
    label: str | None
    key: str | None
    texts: dict[str, str]
    """Columns that become text fields: column -> field."""
    others: tuple[str, ...]
    """Columns that go together into the field `json`."""


def find_columns(columns: Sequence[str], options: ListOptions, path: str) -> Columns:
    """The meaning of each column: as asked for, otherwise by the first known name, whatever its case.

    Raises:
        SourceError: A column that is asked for is not there, or no column looks like a path.
    """
    for asked in (options.path_column, options.label_column, options.key_column, *options.fields):
        if asked and asked not in columns:
            raise SourceError("the list has no such column", got=asked, accepted=", ".join(columns), path=path)
    found_path = options.path_column or first_known(columns, PATH_NAMES)
    if found_path is None:
        raise SourceError(
            "no column of the list looks like a path",
            got=", ".join(columns),
            accepted=", ".join(PATH_NAMES),
            path=path,
            remedy="Name it: --path-column NAME (headrace pack), paths=NAME (FileDataset).",
        )
    label = options.label_column
    if label is None:
        label = first_known([name for name in columns if name not in options.fields], LABEL_NAMES)
    key = options.key_column or first_known(columns, KEY_NAMES)
    taken = {found_path, label, key, *options.fields}
    return Columns(
        path=found_path,
        label=label or None,
        key=key,
        texts=dict(options.fields),
        others=tuple(sorted(name for name in columns if name not in taken)),
    )


def first_known(columns: Sequence[str], known: Sequence[str]) -> str | None:
    """The first column that has one of the known names, in the order of these."""
    lowered = {name.strip().lower(): name for name in reversed(columns)}
    return next((lowered[name] for name in known if name in lowered), None)
