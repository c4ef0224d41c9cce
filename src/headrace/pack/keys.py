"""Keys and fields such that a shard gives back what was put in."""

from __future__ import annotations

from collections.abc import Sequence

from headrace._base.units import count
from headrace.errors import SourceError
from headrace.pack.catalog import Catalog
from headrace.shards.names import check_field, check_key
from headrace.sources.names import shown

REPLACE_REMEDY = "Rename the files, or pass --replace-dots (dots='replace'): dots in keys become underscores."


def refuse_dots(keys: Sequence[str]) -> None:
    """Raises SourceError where the base name of a key holds a dot, with the first few named and all counted."""
    dotted = [key for key in keys if "." in key.rpartition("/")[2]]
    if dotted:
        raise SourceError(
            f"{len(dotted)} of {len(keys)} file names hold a dot before the extension, where a shard ends the key",
            got=shown(dotted),
            remedy=REPLACE_REMEDY,
        )


def refuse_repeats(keys: Sequence[str], remedy: str) -> None:
    """Raises SourceError where two samples have one key."""
    if len(set(keys)) == len(keys):
        return
    seen: set[str] = set()
    twice = [key for key in keys if key in seen or seen.add(key)]  # type: ignore[func-returns-value]
    raise SourceError(f"{count(len(twice), 'key comes', 'keys come')} more than once", got=shown(twice), remedy=remedy)


def check_names(catalog: Catalog, allow_pickle: tuple[str, ...]) -> None:
    """Refuses, before anything is written, what a shard would refuse later.

    Raises:
        KeyRefusedError: A key that would read back differently.
        WriteError: A field that would read back under another name.
        UnsafeFieldError: A field whose reading can run code, and that is not allowed.
    """
    for key in catalog.keys:
        check_key(key)
    for field in catalog.fields:
        check_field(field, catalog.keys[0], allow_pickle)
