"""From what a user writes to a list of shards."""

from __future__ import annotations

import glob
import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from headrace.errors import IndexFormatError, OptionError, SourceError
from headrace.shards.dataset_json import MOST_JSON_BYTES
from headrace.shards.plain_file import read_plain

Urls: TypeAlias = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]

SUFFIXES = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst")
INDEX_NAME = "index.json"
ACCEPTED = "a shard, a folder of .tar files, a pattern (`x-{000000..000146}.tar`, `x-*.tar`), an index.json, or a list"

RANGE = re.compile(r"(\d+)\.\.(\d+)")
MOST_URLS = 10_000_000


def expand_urls(urls: Urls) -> list[str]:
    """The shards that `urls` names, in order.

    Args:
        urls: A path, or a sequence of paths. Each may hold brace ranges (`{000000..000146}`, as wide as its ends are
            written) and choices (`{a,b}`), or be a glob pattern (its matches sorted), a folder (its .tar files,
            sorted) or an `index.json` (its shards, in its order). A name that exists is taken as it is.

    Raises:
        SourceError: A shard, folder or pattern that is not there or names nothing.
        OptionError: No path and no sequence of paths.
    """
    given = list_of_paths(urls)
    if not given:
        raise SourceError("no shards are named", got=repr(urls), accepted=ACCEPTED)
    names = bounded(itertools.chain.from_iterable(expand_one(os.fspath(url)) for url in given), repr(urls))
    check_present(names)
    return names


def list_of_paths(urls: object) -> list[str | os.PathLike[str]]:
    """The entries of what a user gave.

    Raises:
        OptionError: No path and no sequence of paths.
    """
    if isinstance(urls, str | os.PathLike):
        return [urls]
    given = list(urls) if isinstance(urls, Iterable) and not isinstance(urls, bytes) else [urls]
    paths = [one for one in given if isinstance(one, str | os.PathLike)]
    if len(paths) < len(given):
        wrong = next(one for one in given if not isinstance(one, str | os.PathLike))
        raise OptionError("a shard is named by a path", got=repr(wrong), accepted=ACCEPTED)
    return paths


def expand_one(url: str) -> Iterator[str]:
    """The shards that one entry names; patterns are looked up, plain names are not checked yet."""
    if is_remote(url):
        raise SourceError(
            "a shard lies where headrace cannot read yet", got=url, accepted="paths of local or mounted files"
        )
    for name in [url] if os.path.exists(url) else expand_braces(url):
        if os.path.isdir(name):
            yield from tars_of(name)
        elif os.path.basename(name) == INDEX_NAME or name.endswith(".json"):
            yield from shards_of_json(Path(name))
        elif glob.has_magic(name) and not os.path.exists(name):
            yield from matches_of(name)
        else:
            yield name


def is_remote(url: str) -> bool:
    """Whether a name has a scheme (`s3://`, `https://`, `pipe:`)."""
    return "://" in url or url.startswith("pipe:")


def expand_braces(text: str) -> Iterator[str]:
    """All names of a brace pattern, the last group counting fastest; a lone `{x}` stays as it is."""
    for start, end in groups_of(text):
        inside = text[start + 1 : end]
        choices = list(top_level_parts(inside))
        if len(choices) > 1 or RANGE.fullmatch(inside):
            middles: Iterable[str] = itertools.chain.from_iterable(map(expand_braces, choices))
            if len(choices) == 1:
                middles = range_of(inside)
            tails = bounded(expand_braces(text[end + 1 :]), text)
            yield from (text[:start] + middle + tail for middle in middles for tail in tails)
            return
    yield text


def bounded(names: Iterable[str], pattern: str) -> list[str]:
    """The names as a list; `{0..99}` six times over must not fill the memory."""
    listed = list(itertools.islice(names, MOST_URLS + 1))
    if len(listed) > MOST_URLS:
        raise SourceError("a pattern names too many shards", got=pattern[:200], accepted=f"{MOST_URLS} at most")
    return listed


def groups_of(text: str) -> Iterator[tuple[int, int]]:
    """First and last place of each pair of braces, in the order of their opening."""
    for start, letter in enumerate(text):
        depth = 0
        for end in range(start, len(text)) if letter == "{" else ():
            depth += (text[end] == "{") - (text[end] == "}")
            if depth == 0:
                yield start, end
                break


def top_level_parts(text: str) -> Iterator[str]:
    """What stands between commas that lie in no further braces."""
    start = depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "{") - (letter == "}")
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    yield text[start:]


def range_of(group: str) -> Iterable[str]:
    """The numbers of `first..last`, as wide as its first end is written."""
    ends = group.split("..")
    first, last = int(ends[0]), int(ends[1])
    if abs(last - first) >= MOST_URLS:
        raise SourceError("a range names too many shards", got="{" + group + "}", accepted=f"{MOST_URLS} at most")
    width = len(ends[0]) if ends[0].startswith("0") else 0
    step = 1 if last >= first else -1
    return (f"{number:0{width}d}" for number in range(first, last + step, step))


def tars_of(folder: str) -> list[str]:
    """The .tar files of a folder, sorted by name."""
    with os.scandir(folder) as entries:
        names = sorted(e.name for e in entries if e.name.endswith(SUFFIXES) and not e.name.startswith("."))
    if not names:
        remedy = "`headrace pack FOLDER SHARDS` makes shards of a folder of images"
        raise SourceError("a folder holds no shards", got=folder, accepted=ACCEPTED, remedy=remedy)
    return [os.path.join(folder, name) for name in names]


def matches_of(pattern: str) -> list[str]:
    """The files that a glob pattern matches, sorted by name."""
    names = sorted(glob.glob(pattern))
    if not names:
        raise SourceError("a pattern matches no file", got=pattern, accepted=ACCEPTED)
    return names


def shards_of_json(path: Path) -> list[str]:
    """The shards that an index.json lists, relative to its folder."""
    try:
        entries = json.loads(read_plain(path, MOST_JSON_BYTES))["shardlist"]
        urls = [str(entry["url"]) for entry in entries]
    except FileNotFoundError:
        raise SourceError("a dataset index is missing", got=str(path), accepted=ACCEPTED) from None
    except (OSError, ValueError, KeyError, TypeError, RecursionError, IndexFormatError) as error:
        raise SourceError(
            "a dataset index cannot be read", got=f"{path}: {error}", accepted="a wids index.json"
        ) from error
    return [os.path.join(path.parent, url) for url in urls]


def check_present(names: Sequence[str]) -> None:
    """Raises `SourceError` for the first name that is not there. A long list is looked up folder by folder."""
    folders: dict[str, frozenset[str]] = {}
    for name in names:
        folder, base = os.path.split(name)
        if folder not in folders:
            folders[folder] = names_in(folder)
        # A name that listing does not give (a folder that may be entered but not listed) is asked for itself.
        if base not in folders[folder] and not os.path.exists(name):
            missing = [n for n in names if not os.path.exists(n)]
            raise SourceError(
                "a shard is missing" if len(missing) == 1 else f"{len(missing)} of {len(names)} shards are missing",
                got=missing[0],
                accepted=ACCEPTED,
                remedy="Correct the pattern, or fetch the missing files",
            )


def names_in(folder: str) -> frozenset[str]:
    """The names in a folder; none where it cannot be listed."""
    try:
        return frozenset(os.listdir(folder or "."))
    except OSError:
        return frozenset()
