"""Open shards: a bounded number at a time, from several threads."""

from __future__ import annotations

import resource
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._base.forks import renew_after_fork
from headrace._base.page_cache import will_need
from headrace.contracts import I64, SampleName
from headrace.errors import HeadraceError, OptionError, ShardChangedError, StorageError
from headrace.shards.dataset_index import DatasetIndex
from headrace.shards.open_shard import OpenShard
from headrace.shards.range_lease import BatchRanges, Entry, RangeLease

MOST_OPEN = 1024
"""Shards kept open by default, where the limit on open files allows it."""


@dataclass(slots=True)
class Place:
    """A shard's place among the open ones."""

    opening: threading.Lock = field(default_factory=threading.Lock)
    shard: OpenShard | None = None
    num_users: int = 0


class ShardSet:
    """The shards of a dataset, opened when they are first asked for; the least recently used are closed.

    Every method may be called from several threads. A shard that is being read is never closed: while more shards are
    in use at once than `capacity`, more are open.

    Args:
        dataset: The dataset's index; each shard is checked against it when it is opened.
        capacity: Shards kept open; None: a quarter of the limit on open files, 1,024 at most.
    """

    def __init__(self, dataset: DatasetIndex, *, capacity: int | None = None) -> None:
        if capacity is not None and capacity < 1:
            raise OptionError("capacity is not accepted", got=capacity, accepted="a positive integer, or None")
        self.dataset = dataset
        self.capacity = capacity or default_capacity()
        self.ends = np.cumsum(dataset.samples)
        self.lock = threading.Lock()
        self.places: OrderedDict[int, Place] = OrderedDict()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """In a forked child nothing is open, and no thread holds a lock."""
        self.lock = threading.Lock()
        self.places = OrderedDict()

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (self.dataset, self.capacity)

    @property
    def num_open(self) -> int:
        """Shards that are open now."""
        return len(self.places)

    def fetch_ranges(self, ids: I64, entries: Sequence[Entry]) -> RangeLease:
        """Where the fields of these samples lie, in open files.

        Args:
            ids: Numbers of samples, through all shards, shape (rows,).
            entries: For each column the names that will do, in order of preference.

        Returns:
            A lease to be used in a `with` block; its arrays fit `_native.read_ranges`.

        Raises:
            OptionError: An id that the dataset does not have.
            ShardError: A shard is not what its index says (with `on_error="raise"`).
            StorageError: A shard cannot be opened.
        """
        batch = BatchRanges(ids, entries)
        try:
            for shard, rows in self.rows_by_shard(ids):
                self.fill(batch, shard, rows)
            fds, columns = batch.fds(), batch.columns()
        except BaseException:
            self.release(batch.shards)
            raise
        return RangeLease(
            fds=fds,
            columns=columns,
            faults=batch.faults,
            release=lambda: self.release(batch.shards),
        )

    def read_ahead(self, first: int, count: int, part: int, num_parts: int) -> None:
        """Tells the system that these samples are wanted soon, so that it reads them in large pieces.

        Args:
            first: First sample of a run of consecutive samples within one shard.
            count: Samples of the run.
            part: Which part of the run's bytes this process asks for ...
            num_parts: ... of how many: the ranks of a node share the work.
        """
        shard = int(np.searchsorted(self.ends, first, side="right"))
        opened = self.acquire(shard)
        try:
            inside = first - self.start(shard)
            kept = min(count, opened.index.num_samples - inside)
            begin, end = opened.index.table.extent(inside, kept) if kept > 0 else (0, 0)
            share = -(-(end - begin) // num_parts)
            will_need(opened.fd, begin + part * share, min(share, end - begin - part * share))
        finally:
            self.release([shard])

    def names(self, ids: I64) -> list[SampleName]:
        """Shard and key of each of these samples."""
        names: list[SampleName | None] = [None] * len(ids)
        for shard, rows in self.rows_by_shard(ids):
            opened = self.acquire(shard)
            try:
                for row, key in zip(rows, opened.keys(ids[rows] - self.start(shard)), strict=True):
                    names[row] = SampleName(shard=self.dataset.shards[shard].url, key=key)
            finally:
                self.release([shard])
        return [name for name in names if name is not None]

    def close(self) -> None:
        """Closes all shards that nobody reads. They open again when they are asked for."""
        with self.lock:
            self.evict(0)

    def start(self, shard: int) -> int:
        """Number of the first sample of a shard."""
        return int(self.ends[shard] - self.dataset.samples[shard])

    def rows_by_shard(self, ids: I64) -> list[tuple[int, npt.NDArray[np.intp]]]:
        """The shards of these samples, and for each the rows that lie in it."""
        if len(ids) == 0:
            return []
        if int(ids.min()) < 0 or int(ids.max()) >= self.ends[-1:].sum():
            raise OptionError(
                "a sample number is out of range",
                got=f"{ids.min()} to {ids.max()}",
                accepted=f"0 to {int(self.ends[-1:].sum()) - 1}",
            )
        shards = np.searchsorted(self.ends, ids, side="right")
        order = np.argsort(shards, kind="stable")
        sorted_shards = shards[order]
        starts = [0, *(np.flatnonzero(sorted_shards[1:] != sorted_shards[:-1]) + 1).tolist(), len(order)]
        numbers = sorted_shards[starts[:-1]].tolist()
        return [(number, order[starts[at] : starts[at + 1]]) for at, number in enumerate(numbers)]

    def fill(self, batch: BatchRanges, shard: int, rows: npt.NDArray[np.intp]) -> None:
        """Fills in the rows that lie in one shard."""
        try:
            opened = self.acquire(shard)
        except StorageError:
            raise
        except HeadraceError as error:
            if self.dataset.on_error == "raise":
                raise
            batch.faults.update((int(row), error) for row in rows)
            return
        batch.shards.append(shard)
        batch.place(opened, rows, batch.ids[rows] - self.start(shard))

    def acquire(self, shard: int) -> OpenShard:
        """A shard, open; it stays so until it is released."""
        with self.lock:
            place = self.places.setdefault(shard, Place())
            self.places.move_to_end(shard)
            place.num_users += 1
        try:
            with place.opening:
                if place.shard is None:
                    place.shard = self.open_shard(shard)
                return place.shard
        except BaseException:
            self.release([shard])
            raise

    def open_shard(self, shard: int) -> OpenShard:
        """Opens a shard and checks it against the dataset's index."""
        info = self.dataset.shards[shard]
        try:
            opened = OpenShard.open(info.url, on_error=self.dataset.on_error)
        except StorageError:
            with self.lock:
                self.evict(0)  # perhaps too many files are open
            opened = OpenShard.open(info.url, on_error=self.dataset.on_error)
        if opened.index.num_samples != info.num_samples and not opened.index.faults:
            opened.close()
            raise ShardChangedError(
                "a shard holds another number of samples than the dataset index says",
                got=opened.index.num_samples,
                accepted=info.num_samples,
                remedy="Index the dataset anew (`headrace index`), or restore the shard",
                shard=info.url,
            )
        return opened

    def release(self, shards: Sequence[int]) -> None:
        """Gives shards back; idle ones beyond the capacity are closed."""
        with self.lock:
            for shard in shards:
                self.places[shard].num_users -= 1
            self.evict(self.capacity)

    def evict(self, capacity: int) -> None:
        """Closes idle shards, least recently used first, until `capacity` are left. The lock is held."""
        excess = len(self.places) - capacity
        for shard in list(self.places):
            place = self.places[shard]
            if place.num_users == 0 and (excess > 0 or place.shard is None):
                if place.shard is not None:
                    place.shard.close()
                del self.places[shard]
                excess -= 1


def reopened(dataset: DatasetIndex, capacity: int) -> ShardSet:
    """A shard set as it arrives in another process: nothing open."""
    return ShardSet(dataset, capacity=capacity)


def default_capacity() -> int:
    """A quarter of this process's limit on open files, 1,024 at most."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_OPEN
    return max(1, min(MOST_OPEN, soft // 4))
