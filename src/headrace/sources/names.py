"""File names taken apart: what they share, and what they end with."""

from __future__ import annotations

from collections.abc import Iterable

from headrace.sources.kinds import Dots

NUM_SHOWN = 3


def split_last(name: str, dots: Dots) -> tuple[str, str] | None:
    """(stem, lower-case extension) of a file of its own; None where it has no extension.

    With dots="refuse" the stem may still hold dots, which a shard cannot have.
    """
    stem, dot, extension = name.rpartition(".")
    if not dot or not stem or not extension:
        return None
    return (stem.replace(".", "_") if dots == "replace" else stem), extension.lower()


def split_path(path: str) -> tuple[str, str]:
    """A path before and from the last dot of its base name: `a/b.tar.gz` is (`a/b.tar`, `.gz`), `a/.b` has no end."""
    stem, dot, end = path.rpartition(".")
    return (stem, f".{end}") if dot and "/" not in end and stem and stem[-1] != "/" else (path, "")


def split_first(name: str, dots: Dots) -> tuple[str, str] | None:
    """(stem, lower-case field) of a sibling file as shards group them: `a.seg.png` is field `seg.png` of `a`."""
    if dots == "replace":
        return split_last(name, dots)
    stem, dot, field = name.partition(".")
    if not dot or not stem or not field:
        return None
    return stem, field.lower()


def cuts_a_number(field: str) -> bool:
    """Whether a field is surely the rest of a name such as `img.001.jpg`."""
    return field.partition(".")[0].isdigit() and "." in field


def join(folder: str, stem: str) -> str:
    """The key of a file."""
    return f"{folder}/{stem}" if folder else stem


def shown(names: Iterable[str]) -> str:
    """The first few names, for a message."""
    names = list(names)
    return ", ".join(map(repr, names[:NUM_SHOWN])) + (", ..." if len(names) > NUM_SHOWN else "")
