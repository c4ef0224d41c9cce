"""What an interrupted run has finished: one line of JSON a shard, behind a line that says of what run they are."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal, Self

from headrace.errors import SourceError
from headrace.pack.faults import writing
from headrace.shards import ShardInfo

FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """A shard that is complete under its name."""

    shard: str
    """File name."""
    num_samples: int
    size_bytes: int
    md5: str
    """md5 of the file, in hexadecimal: the one that the dataset index publishes."""
    headers: str | None = None
    """Hash of some of its header blocks, which the dataset index holds too."""

    @classmethod
    def of(cls, info: ShardInfo) -> Self:
        """The entry of a shard that was just written."""
        return cls(
            shard=info.name,
            num_samples=info.num_samples,
            size_bytes=info.size_bytes,
            md5=str(info.md5),
            headers=info.headers,
        )

    def info(self, folder: Path) -> ShardInfo:
        """The same as the dataset index has it."""
        return ShardInfo(
            url=str(folder / self.shard),
            name=self.shard,
            num_samples=self.num_samples,
            size_bytes=self.size_bytes,
            md5=self.md5,
            headers=self.headers,
        )


class Journal:
    """The journal of one destination, locked while it is open.

    Args:
        path: Where it lies.
        fingerprint: Identifies source and options; shards of another run are not ours to go on with.

    Raises:
        SourceError: Another process packs into the same destination.
    """

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path = path
        self.fingerprint = fingerprint
        with writing(path.parent):
            self._folder = os.open(path.parent, os.O_RDONLY)
        try:
            fcntl.flock(self._folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(self._folder)
            raise SourceError(
                "another process is packing into this destination", path=path.parent, remedy="Wait for it to end."
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._folder)

    def read(self) -> tuple[str | None, list[Finished]]:
        """(fingerprint of the run that wrote it or None, its finished shards); a line cut short ends the list."""
        try:
            lines = self.path.read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return None, []
        try:
            head = json.loads(lines[0]) if lines else {}
            if head.get("format") != FORMAT:
                return None, []
            return head["fingerprint"], [Finished(**json.loads(line)) for line in lines[1:]]
        except (ValueError, TypeError, KeyError, AttributeError):
            return None, []

    def begin(self, finished: Sequence[Finished]) -> None:
        """Starts anew, with the shards that are kept: the old journal is in force until the new one is complete."""
        head = {"format": FORMAT, "fingerprint": self.fingerprint}
        fresh = self.path.with_name(self.path.name + ".new")
        append(fresh, [head, *map(asdict, finished)], "wb")
        with writing(self.path):
            fresh.replace(self.path)

    def add(self, finished: Finished) -> None:
        """Notes a shard that has got its name."""
        append(self.path, [asdict(finished)], "ab")


def append(path: Path, lines: Sequence[dict[str, object]], mode: Literal["wb", "ab"]) -> None:
    """Writes lines of JSON and has the disk take them."""
    with writing(path), path.open(mode) as file:
        file.write(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        file.flush()
        os.fsync(file.fileno())
