"""Finds out which columns of a list mean what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.errors import SourceError
from headrace.pack.options import ListOptions

PATH_NAMES = (
    "path", "file", "filename", "file_name", "filepath", "file_path", "image", "image_path", "img", "img_path",
)  # fmt: skip
LABEL_NAMES = ("label", "cls", "class", "class_id", "class_name", "label_id", "target", "category", "y")
KEY_NAMES = ("key", "__key__")


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
            remedy="Name it: --path-column NAME.",
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
