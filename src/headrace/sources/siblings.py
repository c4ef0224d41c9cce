"""Files that lie side by side and share a name: `a.jpg`, `a.txt`, `a.json` are one sample."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headrace.errors import SourceError
from headrace.sources.kinds import Dots
from headrace.sources.names import cuts_a_number, join, split_first

RENAME_REMEDY = (
    "Rename the files, or pass --replace-dots (dots='replace') to `headrace pack`: dots in keys become underscores; "
    "a list of files takes any names."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Siblings:
    """The samples of one folder."""

    samples: dict[str, dict[str, int]]
    """Stem -> field -> place of the file among the names, sorted by stem and field."""
    num_ignored: int
    """Files that belong to no sample."""


def group_siblings(names: Sequence[str], place: str, dots: Dots) -> Siblings:
    """Groups the files of a folder as shards group them, at the first dot of the base name.

    Args:
        names: Of the files, sorted.
        place: The folder, for errors.
        dots: Whether dots inside of names are refused or replaced.

    Raises:
        SourceError: Two files for one field, or a name whose first dot is surely not meant to end it.
    """
    groups: dict[str, dict[str, int]] = {}
    num_ignored = 0
    for number, name in enumerate(names):
        parts = split_first(name, dots)
        if parts is None or (parts[0].startswith("__") and parts[0].endswith("__")):
            num_ignored += 1
            continue
        stem, field = parts
        if dots == "refuse" and cuts_a_number(field):
            raise SourceError(
                f"a dot inside of a name: field {field!r} of sample {stem!r} is surely not meant",
                path=join(place, name),
                remedy=RENAME_REMEDY,
            )
        fields = groups.setdefault(stem, {})
        if field in fields:
            raise SourceError(
                "two files for one field, which differ in case or dots only",
                got=f"{names[fields[field]]!r} and {name!r}",
                path=place,
                remedy="Rename or remove one of them.",
            )
        fields[field] = number
    samples = {stem: dict(sorted(fields.items())) for stem, fields in sorted(groups.items())}
    return Siblings(samples=samples, num_ignored=num_ignored)
