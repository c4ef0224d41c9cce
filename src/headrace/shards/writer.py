"""`ShardWriter`: samples in, a row of shards out."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from headrace.errors import OptionError, WriteError
from headrace.shards.dataset_json import dataset_document, write_document
from headrace.shards.earlier_index import joined_with_earlier
from headrace.shards.names import is_dunder
from headrace.shards.output import FileRange
from headrace.shards.shard_file import FieldBytes, ShardFile
from headrace.shards.shard_info import ShardInfo
from headrace.shards.urls import INDEX_NAME

GIB = 1 << 30
NUMBER = re.compile(r"%0?\d*d")
Encode = Callable[[str, object], bytes]


def encode_plain(field: str, value: object) -> bytes:
    """Bytes as they are; text as UTF-8; integers in decimal."""
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, int):
        return str(int(value)).encode()
    raise WriteError(
        "a value cannot be written without an encoder",
        got=type(value).__name__,
        accepted="bytes, str, int",
        field=field,
    )


class ShardWriter:
    """Writes samples to numbered shards; a context manager.

    A shard appears under its name when it is full and flushed. Leaving the block publishes the last one, then writes
    `index.json`; an exception removes the shard begun and leaves the finished ones.

    Args:
        pattern: Path with one place for the number, as in `data/train-%06d.tar`, or a folder, which means
            `<folder>/shard-%06d.tar`. The folder is made if missing.
        shard_size_bytes: Upper bound of a shard's size (a single larger sample gets a shard of its own). 2 GiB.
        samples_per_shard: Samples of each shard, in place of the size.
        counts: The exact number of samples of each shard, from `even_counts` or `even_cuts`: with these the shards
            are even to the last one, which a writer that does not know the end of its samples cannot do.
        allow_pickle: Extensions that may be written although reading them can run code.
        encode: Turns (field, value) into bytes for values that are not bytes, paths or file ranges.
        write_index: Whether to write an index beside each shard.
        write_dataset_index: Whether to write `index.json` at the end.
        extra: Facts that go into `index.json` (class names, label order).
        overwrite: Whether shards of these names may be replaced.

    Raises:
        OptionError: An argument that is not accepted.
    """

    def __init__(
        self,
        pattern: str | os.PathLike[str],
        *,
        shard_size_bytes: int = 2 * GIB,
        samples_per_shard: int | None = None,
        counts: Iterable[int] | None = None,
        allow_pickle: tuple[str, ...] = (),
        encode: Encode = encode_plain,
        write_index: bool = True,
        write_dataset_index: bool = True,
        extra: Mapping[str, Any] | None = None,
        overwrite: bool = False,
    ) -> None:
        check_positive("shard_size_bytes", shard_size_bytes)
        if samples_per_shard is not None:
            check_positive("samples_per_shard", samples_per_shard)
        self.pattern = checked_pattern(os.fspath(pattern))
        self.shard_size_bytes = shard_size_bytes
        self.samples_per_shard = samples_per_shard
        self.counts = None if counts is None else iter(counts)
        self.count_of_this = 0
        self.allow_pickle = allow_pickle
        self.encode = encode
        self.write_index = write_index
        self.write_dataset_index = write_dataset_index
        self.extra = dict(extra or {})
        self.overwrite = overwrite
        self.shards: list[ShardInfo] = []
        self.fields: dict[str, None] = {}
        self.current: ShardFile | None = None
        self.is_closed = False

    def write(self, sample: Mapping[str, object]) -> None:
        """Writes one sample: `__key__` and fields. Other names of the form `__x__` are left out.

        Paths are copied as files; bytes go as they are; everything else through `encode`.
        See `ShardFile.add` for what is refused.
        """
        fields = {name: value for name, value in sample.items() if not is_dunder(name)}
        encoded = {name: self.encoded(name, value) for name, value in fields.items()}
        self.write_raw(sample.get("__key__"), encoded)  # type: ignore[arg-type] # checked there

    def write_raw(self, key: str, fields: Mapping[str, FieldBytes]) -> None:
        """Writes one sample of bytes, paths (copied) or file ranges, as they are."""
        if self.is_closed:
            raise WriteError("a closed writer is written to", key=key)
        shard = self.shard_for_next(fields)
        shard.add(key, fields)
        self.fields.update(dict.fromkeys(fields))

    def close(self) -> tuple[ShardInfo, ...]:
        """Publishes the last shard and writes `index.json`, where others stay listed. Idempotent; gives all shards.

        Raises:
            WriteError: The index that is there has other class names, or other facts, for shards that stay.
        """
        if not self.is_closed:
            self.is_closed = True
            self.finish_shard()
            if self.write_dataset_index:
                folder = os.path.dirname(self.pattern)
                document = dataset_document(self.shards, tuple(self.fields), self.extra, folder)
                path = os.path.join(folder, INDEX_NAME)
                write_document(path, joined_with_earlier(document, path))
        return tuple(self.shards)

    def abort(self) -> None:
        """Removes the shard begun; finished ones stay. Idempotent."""
        self.is_closed = True
        if self.current is not None:
            self.current.discard()
            self.current = None

    def encoded(self, field: str, value: object) -> FieldBytes:
        """A value as the shard takes it."""
        if isinstance(value, bytes | bytearray | memoryview | os.PathLike | FileRange):
            return value
        return self.encode(field, value)

    def shard_for_next(self, fields: Mapping[str, FieldBytes]) -> ShardFile:
        """The shard that takes a sample of these fields: the current one, or a new one where that is full."""
        if self.current is not None and self.is_full(self.current, fields):
            self.finish_shard()
        if self.current is None:
            if self.counts is not None:
                self.count_of_this = next(self.counts, 0)
            self.current = self.new_shard()
        return self.current

    def is_full(self, shard: ShardFile, fields: Mapping[str, FieldBytes]) -> bool:
        """Whether the next sample belongs to another shard."""
        if self.counts is not None:
            return shard.num_samples >= self.count_of_this
        if self.samples_per_shard is not None:
            return shard.num_samples >= self.samples_per_shard
        return shard.num_samples > 0 and shard.size_bytes + shard.size_of(fields) > self.shard_size_bytes

    def new_shard(self) -> ShardFile:
        """Begins the next shard."""
        path = Path(self.pattern % len(self.shards))
        if path.exists() and not self.overwrite:
            raise WriteError(
                "a shard of this name is there already",
                got=str(path),
                remedy="Write to another folder, remove the shard, or pass overwrite=True",
            )
        path.parent.mkdir(parents=True, exist_ok=True)
        return ShardFile(path, write_index=self.write_index, allow_pickle=self.allow_pickle)

    def finish_shard(self) -> None:
        """Publishes the current shard, if there is one with samples."""
        shard, self.current = self.current, None
        if shard is None:
            return
        if shard.num_samples:
            self.shards.append(shard.commit())
        else:
            shard.discard()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()


def check_positive(name: str, value: int) -> None:
    """Raises `OptionError` unless the value is a positive integer."""
    if value <= 0:
        raise OptionError(f"{name} is not accepted", got=repr(value), accepted="a positive integer")


def checked_pattern(pattern: str) -> str:
    """A pattern with one place for the shard's number."""
    if not pattern.endswith(".tar"):
        if "%" in pattern or os.path.splitext(pattern)[1]:
            raise OptionError("a shard pattern is not accepted", got=pattern, accepted="'x-%06d.tar', or a folder")
        return os.path.join(pattern, "shard-%06d.tar")
    if len(NUMBER.findall(pattern)) != 1 or pattern.count("%") != 1:
        raise OptionError(
            "a shard pattern needs one place for the number", got=pattern, accepted="for example 'train-%06d.tar'"
        )
    return pattern
