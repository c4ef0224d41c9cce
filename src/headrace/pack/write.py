"""Writes the shards of a plan that are not there yet, reading ahead."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from headrace._base.os_errors import from_os_error
from headrace.contracts import I64
from headrace.pack.ahead import ahead
from headrace.pack.batches import Batch, Content, other_size, read_batch, split
from headrace.pack.catalog import Catalog, Part
from headrace.pack.destination import Destination
from headrace.pack.journal import Finished, Journal
from headrace.pack.plan import Plan
from headrace.pack.progress import Meter
from headrace.shards import FieldBytes, FileRange, ShardFile, ShardInfo

AHEAD_PER_WORKER = 2


@dataclass(slots=True, kw_only=True)
class Count:
    """Samples and bytes written so far."""

    meter: Meter
    num_done: int
    num_total: int
    size_bytes: int = 0

    def add(self, num_samples: int, size_bytes: int) -> None:
        """So much more is written."""
        self.num_done += num_samples
        self.size_bytes += size_bytes
        self.meter.tell("write", self.num_done, self.num_total, self.size_bytes)


def write_shards(
    catalog: Catalog,
    plan: Plan,
    target: Destination,
    journal: Journal,
    kept: dict[str, Finished],
    *,
    allow_pickle: tuple[str, ...],
    num_workers: int,
    meter: Meter,
) -> list[Finished]:
    """Writes what is missing, shard after shard, and notes each; returns all shards in their order."""
    finished, count = (
        dict(kept),
        Count(meter=meter, num_done=sum(entry.num_samples for entry in kept.values()), num_total=len(catalog)),
    )
    items = missing_batches(catalog, plan, target, kept)
    work = partial(read_numbered, catalog)
    with closing(ahead(work, items, num_workers=num_workers, num_ahead=AHEAD_PER_WORKER * num_workers)) as stream:
        for number, numbered in groupby(stream, key=itemgetter(0)):
            path = target.shard(number, plan.num_shards)
            batches = (batch for _, batch in numbered)
            info = write_shard(path, catalog, batches, allow_pickle, count)
            finished[path.name] = Finished.of(info)
            journal.add(finished[path.name])
    return [finished[target.shard(number, plan.num_shards).name] for number in range(plan.num_shards)]


def write_shard(
    path: Path, catalog: Catalog, batches: Iterable[Batch], allow_pickle: tuple[str, ...], count: Count
) -> ShardInfo:
    """Writes one shard and its index; nothing is left of it where that fails."""
    shard = ShardFile(path, allow_pickle=allow_pickle)
    try:
        for batch in batches:
            for sample, parts in zip(batch.samples.tolist(), batch.parts, strict=True):
                with opened(parts) as ready:
                    shard.add(catalog.keys[sample], ready)
            count.add(len(batch.samples), batch.size_bytes)
        return shard.commit()
    finally:
        shard.discard()


def missing_batches(
    catalog: Catalog, plan: Plan, target: Destination, kept: dict[str, Finished]
) -> Iterator[tuple[int, I64]]:
    """(shard, samples to read at once) of the shards that are not kept."""
    for number in range(plan.num_shards):
        if target.shard(number, plan.num_shards).name not in kept:
            for samples in split(catalog, plan.samples(number)):
                yield number, samples


def read_numbered(catalog: Catalog, item: tuple[int, I64]) -> tuple[int, Batch]:
    """Reads one batch, and keeps its shard beside it."""
    number, samples = item
    return number, read_batch(catalog, samples)


@contextmanager
def opened(fields: Mapping[str, Content]) -> Iterator[dict[str, FieldBytes]]:
    """The fields of a sample, large ones as ranges of open files.

    Raises:
        SourceError: A file has another size than when it was listed.
        StorageError: A file cannot be opened.
    """
    with ExitStack() as files:
        ready: dict[str, FieldBytes] = {}
        for name, content in fields.items():
            ready[name] = open_range(content, files) if isinstance(content, Part) else content
        yield ready


def open_range(part: Part, files: ExitStack) -> FileRange:
    """A part as a range of a file that is open as long as `files`."""
    path = str(part.path)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a named pipe would wait for its writer
        files.callback(os.close, fd)
        size_bytes = os.fstat(fd).st_size
    except OSError as error:
        raise from_os_error(error, "a file of the source cannot be read", path, stage="pack") from error
    if part.whole and size_bytes != part.size_bytes:
        raise other_size(path)
    return FileRange(fd=fd, size=part.size_bytes, offset=part.offset)
