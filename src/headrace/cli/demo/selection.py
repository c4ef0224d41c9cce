"""Chooses photographs from a folder of the user's: a folder tree of links that both loaders can read."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from headrace.errors import SourceError

SUFFIXES = frozenset({".jpg", ".jpeg", ".png"})
"""What the demo trains on; matches the fields that it asks of the shards."""


def select_photographs(source: Path, folder: Path, *, num: int) -> int:
    """Links at most `num` photographs of `source`, evenly spread, into `folder/<class>/<number>.<ext>`.

    The class of a photograph is the first folder on its path below `source`; those that lie in none form one class.

    Args:
        source: A folder with photographs in it, at any depth.
        folder: The tree to make; one that is there is replaced.
        num: Most photographs to take.

    Returns:
        The number of photographs taken.

    Raises:
        SourceError: The folder is missing or holds no photograph.
    """
    found = find_photographs(source)
    if not found:
        raise SourceError(
            "no photographs",
            path=source,
            accepted=", ".join(sorted(SUFFIXES)),
            remedy="Name another folder with --data.",
        )
    shutil.rmtree(folder, ignore_errors=True)
    taken = [found[index * len(found) // num] for index in range(num)] if len(found) > num else found
    for number, path in enumerate(taken):
        inside = path.relative_to(source).parts
        place = folder / (inside[0] if len(inside) > 1 else "photographs")
        place.mkdir(parents=True, exist_ok=True)
        (place / f"{number:07d}{path.suffix.lower()}").symlink_to(path.resolve())
    return len(taken)


def find_photographs(source: Path) -> list[Path]:
    """All photographs below a folder, sorted; names that start with a dot are passed over."""
    if not source.is_dir():
        raise SourceError("no such folder", path=source, remedy="Name a folder of photographs with --data.")
    found = []
    for root, folders, names in os.walk(source, followlinks=True):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [
            Path(root, name)
            for name in names
            if not name.startswith(".") and os.path.splitext(name)[1].lower() in SUFFIXES  # noqa: PTH122 - of a name
        ]
    return sorted(found)
