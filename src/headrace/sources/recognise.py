"""Finds out what kind of source a path is."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path

from headrace._base.os_errors import from_os_error
from headrace.errors import SourceError
from headrace.sources.folders import IMAGE_EXTENSIONS, is_folder, no_folder
from headrace.sources.kinds import SourceKind
from headrace.sources.rows import EXTENSIONS

NUM_LOOKED_AT = 1000
"""Files of a folder that are looked at: enough to tell, few enough to be quick on a network file system."""


def recognise(path: str) -> tuple[SourceKind, str]:
    """The kind of a source and why it is taken for that.

    A pattern or a `.tar` is shards, a file with the extension of a list is a list, a folder that holds tars is shards.
    In other folders the files decide: images that have companions of the same name, or that lie in the folder itself,
    are siblings; images that lie in sub-folders on their own are classes. So are, without any
    image, files of the same name; where there are none of these either, somebody has to say that the files are samples.

    Raises:
        SourceError: Nothing there, nothing that is known, or a link that leads in a circle.
        StorageError: A folder cannot be listed.
    """
    if "{" in path or "*" in path or path.endswith(".tar"):
        return "shards", "the name is that of shards"
    if path.lower().endswith(EXTENSIONS):
        return "list", f"the file is a {Path(path).suffix.lower()} list"
    if not Path(path).exists():
        raise no_folder(path)
    if not Path(path).is_dir():
        raise SourceError(
            "not a source", path=path, accepted=f"a folder, a list ({', '.join(EXTENSIONS)}), or shards (.tar)"
        )
    try:
        return recognise_folder(path)
    except OSError as error:
        raise from_os_error(error, "a folder of the source cannot be listed", error.filename or path) from error


def recognise_folder(path: str) -> tuple[SourceKind, str]:
    """The kind of a folder, from a first look at its files and those of its first sub-folders."""
    names = file_names(path)
    if any(name.endswith(".tar") for name in names):
        return "shards", "the folder holds .tar files"
    if any(is_image(name) for name in names):
        return "siblings", "images lie in the folder itself"
    below = sub_folders(path)
    for folder in below:
        names = file_names(folder)
        companion = next((name for name in names if has_image(name, names)), None)
        if companion is not None:
            return "siblings", f"{companion} lies beside an image of the same name"
        if any(is_image(name) for name in names):
            return "image-folder", "images lie in sub-folders, which are taken for their classes"
    listings = [file_names(folder) for folder in (path, *below)]
    if any(have_companions(names) for names in listings):
        return "siblings", "files of the same name belong together"
    if any(listings):
        raise SourceError(
            "there are files in the source, but no images",
            path=path,
            remedy='If its files are samples all the same, say so: --source siblings, or kind="siblings" in Python.',
        )
    raise SourceError(
        "no images and no other files in the source",
        path=path,
        accepted="FOLDER/CLASS/IMAGE, sibling files a.jpg a.txt a.json, or .tar shards",
    )


def file_names(folder: str) -> list[str]:
    """The first files of a folder that are not hidden."""
    with os.scandir(folder) as entries:
        shown = (entry.name for entry in entries if not entry.name.startswith(".") and not is_folder(entry))
        return sorted(islice(shown, NUM_LOOKED_AT))


def sub_folders(path: str) -> list[str]:
    """All folders below, those above first, up to the first few hundred."""
    found = [path]
    for folder in found:
        if len(found) > NUM_LOOKED_AT:
            break
        with os.scandir(folder) as entries:
            shown = sorted((entry for entry in entries if not entry.name.startswith(".")), key=lambda entry: entry.path)
            found.extend(entry.path for entry in shown if is_folder(entry) and not leads_up(entry))
    return found[1:]


def leads_up(entry: os.DirEntry[str]) -> bool:
    """Whether a folder is a link to one that it lies in."""
    if not entry.is_symlink():
        return False
    place, target = Path(entry.path).parent.resolve(), Path(entry.path).resolve()
    return place.is_relative_to(target)


def is_image(name: str) -> bool:
    """Whether a file has the extension of an image."""
    return name.rpartition(".")[2].lower() in IMAGE_EXTENSIONS


def has_image(name: str, names: list[str]) -> bool:
    """Whether a file that is no image has an image of the same name beside it."""
    stem = name.partition(".")[0]
    return not is_image(name) and any(other.startswith(stem + ".") and is_image(other) for other in names)


def have_companions(names: list[str]) -> bool:
    """Whether two files have the same name up to their extension."""
    stems = [name.partition(".")[0] for name in names if "." in name]
    return len(set(stems)) < len(stems)
