"""What is asked of a source of loose files."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headrace.datasets.fields import FieldsArgument, parse_fields
from headrace.errors import OptionError, SourceError


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Which columns a table is to hold."""

    fields: frozenset[str] | None
    """Names and extensions in lower case; None: all there are."""
    root: str | None = None
    """Folder that the paths of a list are relative to; None: that of the list."""
    paths: tuple[str, ...] | None = None
    """Columns of a list that hold paths; None: the first known name."""
    labels: str | None = None
    """Column of a list that holds class names or numbers; "" for none; None: the first known name."""

    def __contains__(self, name: str) -> bool:
        return self.fields is None or name.lower() in self.fields

    def refuse_list_options(self, source: object) -> None:
        """Refuses what only a list has.

        Raises:
            OptionError: Columns or a root are named.
        """
        for name in ("root", "paths", "labels"):
            if getattr(self, name) is not None:
                raise OptionError(
                    f"{name}= is for lists, and the source is none", got=repr(str(source)), accepted="a list of files"
                )


def absolute(root: str | None, otherwise: str) -> str:
    """The folder that paths are relative to.

    Raises:
        SourceError: It is no folder.
    """
    folder = Path(root if root is not None else otherwise).absolute()
    if not folder.is_dir():
        raise SourceError("root= is no folder", got=repr(root), path=folder, remedy="Name the folder of the files.")
    return str(folder)


def names_in(fields: FieldsArgument) -> frozenset[str] | None:
    """All names and extensions of the argument `fields`; None where it is None.

    Raises:
        OptionError: It is not accepted.
    """
    if fields is None:
        return None
    return frozenset(name for entry in parse_fields(fields, ()).entries for name in entry.extensions)


def columns_of(paths: Any) -> tuple[str, ...] | None:
    """The argument `paths=` as names.

    Raises:
        OptionError: Neither a name nor several.
    """
    if paths is None:
        return None
    names = (paths,) if isinstance(paths, str) else tuple(paths) if isinstance(paths, Iterable) else ()
    if not names or not all(isinstance(name, str) and name for name in names):
        raise OptionError("paths= names no columns", got=repr(paths), accepted="a column of the list, or several")
    return names
