"""The folder that shards are packed into: what is there already, and what of it may be kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headrace._base.atomic import TEMPORARY_SUFFIX
from headrace._base.units import count
from headrace.errors import HeadraceError, SourceError
from headrace.pack.faults import writing
from headrace.pack.journal import Finished, Journal
from headrace.pack.spool import remove
from headrace.shards import DatasetIndex, ShardIndex, md5_of_file
from headrace.shards.urls import INDEX_NAME

CLASS_NAMES = "class_names"
"""Fact of the dataset index that names the classes by label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """The folder and the names in it."""

    folder: Path
    name: str
    """Base name of the shards."""

    @property
    def journal(self) -> Path:
        """Where an interrupted run is noted; kept afterwards, so that the same command finds that all is done."""
        return self.folder / f".{self.name}.pack.jsonl"

    @property
    def index(self) -> Path:
        """The dataset index."""
        return self.folder / INDEX_NAME

    @property
    def spool(self) -> Path:
        """Where shrunken images wait."""
        return self.folder / f".{self.name}.spool"

    def shard(self, number: int, num_shards: int) -> Path:
        """Path of a shard: six digits, more where the number of shards asks for it."""
        return self.folder / f"{self.name}-{number:0{max(6, len(str(num_shards - 1)))}d}.tar"

    def shards(self) -> list[Path]:
        """Shards of this name that lie in the folder, of whatever run."""
        return sorted(
            path for path in self.folder.glob(f"{self.name}-*.tar") if path.stem.removeprefix(f"{self.name}-").isdigit()
        )

    def publish(self, finished: Sequence[Finished], fields: Sequence[str], class_names: Sequence[str] | None) -> None:
        """Writes the dataset index: the list of the shards and what is in them."""
        DatasetIndex(
            shards=[entry.info(self.folder) for entry in finished],
            samples=np.array([entry.num_samples for entry in finished], dtype=np.int64),
            sizes=np.array([entry.size_bytes for entry in finished], dtype=np.int64),
            fields=tuple(fields),
            extra={} if class_names is None else {CLASS_NAMES: list(class_names)},
        ).save(self.index)

    def sweep(self) -> None:
        """Removes the temporary files that a killed run has left."""
        for pattern in (f".{self.name}-*{TEMPORARY_SUFFIX}", f".{INDEX_NAME}.*{TEMPORARY_SUFFIX}"):
            for path in self.folder.glob(pattern):
                path.unlink()


def make(folder: str, name: str | None) -> Destination:
    """Makes the folder where it is not there.

    Raises:
        StorageError: It cannot be made.
        SourceError: It is a file.
    """
    path = Path(folder)
    if path.exists() and not path.is_dir():
        raise SourceError("the destination is no folder", path=path, remedy="Name a folder; shards are files in it.")
    with writing(path):
        path.mkdir(parents=True, exist_ok=True)
    return Destination(folder=path, name=name or path.resolve().name)


def claim(destination: Destination, journal: Journal, *, overwrite: bool) -> list[Finished]:
    """What an earlier run of the same command says to have finished; refuses to touch the shards of another one.

    Raises:
        SourceError: The destination holds shards of another source, other options, or another program.
    """
    present = destination.shards()
    refuse_others(destination, present)
    fingerprint, finished = journal.read()
    if fingerprint == journal.fingerprint:
        return finished
    if (present or fingerprint is not None) and not overwrite:
        what = "the destination holds shards that were not packed by this command"
        if fingerprint is not None:
            what = "the destination holds shards of another source or other options (or the source has changed since)"
        raise SourceError(
            what,
            got=f"{count(len(present), 'shard')} named {destination.name}-*.tar",
            path=destination.folder,
            remedy="Pass --overwrite to replace them, or name another folder.",
        )
    with writing(destination.folder):
        destination.index.unlink(missing_ok=True)  # first: it must not list shards that are gone
        for path in present:
            remove_shard(path)
        remove(destination.spool)
        destination.journal.unlink(missing_ok=True)
    return []


def refuse_others(destination: Destination, present: Sequence[Path]) -> None:
    """Refuses a folder with shards of another name, which would share its index.json."""
    others = sorted(path.name for path in set(destination.folder.glob("*.tar")).difference(present))
    if others:
        raise SourceError(
            "the destination holds shards of another name",
            got=f"{others[0]} and others" if len(others) > 1 else others[0],
            path=destination.folder,
            accepted="a folder for each dataset",
            remedy="Name another folder.",
        )


def remove_shard(path: Path) -> None:
    """Removes a shard and its index."""
    path.unlink(missing_ok=True)
    path.with_name(path.name + ".index").unlink(missing_ok=True)


def still_whole(
    folder: Path, finished: Sequence[Finished], on_checked: Callable[[Finished], None]
) -> dict[str, Finished]:
    """Those shards whose size, checksum and index are what the journal says, by name."""
    kept = {}
    for entry in finished:
        if is_whole(folder / entry.shard, entry):
            kept[entry.shard] = entry
        on_checked(entry)
    return kept


def is_whole(path: Path, entry: Finished) -> bool:
    """Whether one shard is what the journal says."""
    try:
        if path.stat().st_size != entry.size_bytes or md5_of_file(path) != entry.md5:
            return False
        return ShardIndex.open(path).num_samples == entry.num_samples
    except (OSError, HeadraceError):
        return False
