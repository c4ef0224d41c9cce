"""Lists the files of a folder tree with one look at each."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from headrace.errors import SourceError, StorageError

IMAGE_EXTENSIONS = frozenset({"jpg", "jpeg", "png", "ppm", "bmp", "pgm", "tif", "tiff", "webp"})
"""What torchvision's ImageFolder takes for an image."""

Noted = TypeVar("Noted")
"""What is noted of a file: its name, or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileEntry:
    """A file as the folder shows it."""

    name: str
    size_bytes: int
    mtime_ns: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder(Generic[Noted]):
    """The files of one folder, sorted by name."""

    path: str
    """Relative to the root of the walk, with slashes; empty for the root itself."""
    files: tuple[Noted, ...]
    num_hidden: int
    """Hidden files and folders (`.DS_Store`, `._x`, `.git`), which are passed over."""


def walk(root: str, note: Callable[[os.DirEntry[str]], Noted]) -> list[Folder[Noted]]:
    """All folders below `root`, sorted by path. Links are followed, a link to a folder above is refused.

    Args:
        root: A folder.
        note: What is noted of a file: `look`, or `name_of`, which asks the file system nothing more.

    Raises:
        SourceError: `root` is no folder, a link goes in a circle or to nothing, or a name is not UTF-8.
        StorageError: A folder cannot be listed.
    """
    if not Path(root).is_dir():
        raise no_folder(root)
    return sorted(descend(root, "", (), note), key=lambda folder: folder.path)


def no_folder(root: str) -> SourceError:
    """What a root says that is no folder."""
    if Path(root).exists():
        return SourceError("the source is no folder", path=root, remedy="Name a folder, a list, or shards.")
    if Path(root).is_symlink():
        return SourceError(
            "the source is a link that leads to nothing, or in a circle",
            got=f"a link to {link_target(root)}",
            path=root,
            remedy="Mend the link.",
        )
    return SourceError("the source does not exist", path=root, remedy="Name a folder, a list, or shards.")


def descend(
    root: str, relative: str, above: tuple[tuple[int, int], ...], note: Callable[[os.DirEntry[str]], Noted]
) -> Iterator[Folder[Noted]]:
    """The folder at `relative` and those below it; `above` identifies the folders on the way down."""
    place = Path(root, relative)
    try:
        status = place.stat()
        if (status.st_dev, status.st_ino) in above:
            raise SourceError(
                "a link leads back to a folder above it",
                got=f"a link to {link_target(place)}" if place.is_symlink() else None,
                path=place,
                remedy="Remove the link, or let it lead to a folder that it does not lie in.",
            )
        with os.scandir(place) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError as error:
        if isinstance(error, SourceError):
            raise
        raise StorageError("a folder cannot be listed", got=error.strerror, path=place) from error
    shown = [entry for entry in entries if not entry.name.startswith(".")]
    files, below = [], []
    for entry in shown:
        check_utf8(entry.name, place)
        if is_folder(entry):
            below.append(entry.name)
        else:
            files.append(note(entry))
    yield Folder(path=relative, files=tuple(files), num_hidden=len(entries) - len(shown))
    way = (*above, (status.st_dev, status.st_ino))
    for name in below:
        yield from descend(root, f"{relative}/{name}" if relative else name, way, note)


def is_folder(entry: os.DirEntry[str]) -> bool:
    """Whether an entry is a folder, or a link to one.

    Raises:
        SourceError: It is a link that goes in a circle, or cannot be looked at.
    """
    try:
        return entry.is_dir()
    except OSError as error:
        raise unusable(entry, error) from error


def name_of(entry: os.DirEntry[str]) -> str:
    """The name of a file, which is looked at only where it is not known to be a plain one."""
    return entry.name if entry.is_file(follow_symlinks=False) else look(entry).name


def look(entry: os.DirEntry[str]) -> FileEntry:
    """Size and time of a file."""
    try:
        status = entry.stat()
    except OSError as error:
        raise unusable(entry, error) from error
    if not stat.S_ISREG(status.st_mode):
        raise SourceError("a pipe or a device lies among the files", path=entry.path, remedy="Remove it.")
    return FileEntry(name=entry.name, size_bytes=status.st_size, mtime_ns=status.st_mtime_ns)


def unusable(entry: os.DirEntry[str], error: OSError) -> SourceError:
    """What an entry says that leads to no file."""
    if not entry.is_symlink():
        what = "a file cannot be looked at"
    elif error.errno == errno.ELOOP:
        what = "a link that leads in a circle, to itself or through other links"
    elif error.errno == errno.ENOENT:
        what = "a link that leads to nothing"
    else:
        what = "a link whose target cannot be looked at"
    got = f"a link to {link_target(entry.path)}: {error.strerror}" if entry.is_symlink() else error.strerror
    return SourceError(what, got=got, path=entry.path, remedy="Remove it or mend it.")


def link_target(path: str | Path) -> str:
    """Where a link points, as it is written."""
    try:
        return repr(os.readlink(path))  # noqa: PTH115 - as it is written, in text
    except OSError:
        return "what cannot be read"


def check_utf8(name: str, place: Path) -> None:
    """Refuses a name that no key can carry."""
    try:
        name.encode()
    except UnicodeEncodeError as error:
        raise SourceError(
            "a file name that is not UTF-8", got=ascii(name), path=place, remedy="Rename the file."
        ) from error
