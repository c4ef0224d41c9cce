"""The samples of a dataset of shards: where the fields of any of them lie, and what they are called."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from headrace import _native
from headrace._base.open_files import OPEN_FILES
from headrace._base.page_cache import seems_there, will_need
from headrace.contracts import I32, I64, SampleName
from headrace.errors import HeadraceError, OptionError, ShardChangedError, StorageError
from headrace.shards.dataset_index import DatasetIndex
from headrace.shards.open_shard import Entry, OpenShard
from headrace.shards.open_shards import OpenShards
from headrace.shards.range_lease import RangeLease


class ShardSet:
    """The shards of a dataset, opened when they are first asked for; the least recently used are closed.

    Every method may be called from several threads. A shard that is being read is never closed. How many are read and
    kept open, by all datasets of the process together, follows the limit on open files (`OPEN_FILES`).

    Args:
        dataset: The dataset's index; each shard is checked against it when it is opened.
        capacity: Shards of this dataset that are kept open; None: as many as are for all datasets together.
    """

    def __init__(self, dataset: DatasetIndex, *, capacity: int | None = None) -> None:
        self.dataset = dataset
        self.shards = OpenShards(dataset, capacity=capacity)
        self.ends = np.cumsum(dataset.samples)

    def __reduce__(self) -> tuple[Any, ...]:
        return reopened, (self.dataset, self.shards.capacity)

    @property
    def num_open(self) -> int:
        """Shards that are open now."""
        return len(self.shards)

    def parts(self, ids: I64) -> list[I64]:
        """Splits the rows of a batch so that no part lies in more shards than may be open for one reader.

        Returns:
            Rows of each part, rising, shape (rows of the part,); one part with all of them as a rule.

        Raises:
            OptionError: An id that the dataset does not have.
        """
        most, all_rows = OPEN_FILES.most_at_once, np.arange(len(ids), dtype=np.int64)
        if len(ids) <= most:
            return [all_rows]
        shards, places, _ = self.place(ids)
        if len(shards) <= most:
            return [all_rows]
        return [np.flatnonzero(places // most == part) for part in range(-(-len(shards) // most))]

    def fetch_ranges(self, ids: I64, entries: tuple[Entry, ...]) -> RangeLease:
        """Where the fields of these samples lie, in open files.

        Args:
            ids: Numbers of samples, through all shards, shape (rows,); `parts` says which may be asked for at once.
            entries: For each column the names that will do, in order of preference.

        Returns:
            A lease to be used in a `with` block; its arrays fit `_native.ReadPlan`.

        Raises:
            OptionError: An id that the dataset does not have.
            ShardError: A shard is not what its index says (with `on_error="raise"`).
            StorageError: A shard cannot be opened.
        """
        shards, places, samples = self.place(ids)
        faults: dict[int, HeadraceError] = {}
        self.shards.reserve(shards)
        try:
            opened = [self.open(shard, number, places, faults) for number, shard in enumerate(shards)]
            if self.dataset.on_error == "skip":
                take_out_lost(opened, places, samples, faults)
            fields = [shard.fields(entries) if shard is not None else None for shard in opened]
            fds, offsets, sizes, choices, absent = _native.locate_rows(fields, len(entries), places, samples)
        except BaseException as error:
            self.shards.release(shards)
            if isinstance(error, IndexError):
                raise ShardChangedError("a sample lies outside of its shard's index") from error
            raise
        return RangeLease(
            fds=fds,
            offsets=offsets,
            sizes=sizes,
            choices=choices,
            absent=absent,
            faults=faults,
            release=partial(self.shards.release, shards),
        )

    def read_ahead(self, first: int, count: int, part: int, num_parts: int, *, unless_there: bool) -> None:
        """Tells the system that these samples are wanted soon, so that it reads them in large pieces.

        Args:
            first: First sample of a run of consecutive samples within one shard.
            count: Samples of the run.
            part: Which part of the run's bytes this process asks for ...
            num_parts: ... of how many: the ranks of a node share the work.
            unless_there: Whether to leave it where probes say that it is in memory.
        """
        shard = int(np.searchsorted(self.ends, first, side="right"))
        self.shards.reserve([shard])
        try:
            opened = self.shards.get(shard)
            inside = first - int(self.ends[shard] - self.dataset.samples[shard])
            kept = min(count, opened.index.num_samples - inside)
            begin, end = opened.index.table.extent(inside, kept) if kept > 0 else (0, 0)
            share = -(-(end - begin) // num_parts)
            wanted = opened.fd, begin + part * share, min(share, end - begin - part * share)
            if not (unless_there and seems_there(*wanted)):
                will_need(*wanted)
        finally:
            self.shards.release([shard])

    def names(self, ids: I64) -> list[SampleName]:
        """Shard and key of each of these samples; asked for where one is broken, among others.

        Raises:
            ShardChangedError: A shard was written to while it was open: neither names nor contents are the index's.
        """
        shards, places, samples = self.place(ids)
        names: list[SampleName | None] = [None] * len(ids)
        for number, shard in enumerate(shards):
            rows, url = np.flatnonzero(places == number), self.dataset.shards[shard].url
            self.shards.reserve([shard])
            try:
                opened = self.shards.get(shard)
                if opened.has_changed():
                    raise written_to(url)
                keys = opened.keys(samples[rows])
            finally:
                self.shards.release([shard])
            for row, key in zip(rows.tolist(), keys, strict=True):
                names[row] = SampleName(shard=url, key=key)
        return [name for name in names if name is not None]

    def close(self) -> None:
        """Closes all shards that nobody reads. They open again when they are asked for."""
        self.shards.close_idle()

    def place(self, ids: I64) -> tuple[list[int], I32, I64]:
        """The shards of these samples; for each sample the place of its shard among them, and its number in there."""
        try:
            return _native.place_samples(self.ends, ids)
        except IndexError:
            raise OptionError(
                "a sample number is out of range",
                got=f"{ids.min()} to {ids.max()}",
                accepted=f"0 to {int(self.ends[-1:].sum()) - 1}",
            ) from None

    def open(self, shard: int, number: int, places: I32, faults: dict[int, HeadraceError]) -> OpenShard | None:
        """A shard that is reserved; None where it is no good and is skipped: then its rows get its error."""
        try:
            return self.shards.get(shard)
        except StorageError:
            raise
        except HeadraceError as error:
            if self.dataset.on_error == "raise":
                raise
            faults.update(dict.fromkeys(np.flatnonzero(places == number).tolist(), error))
            return None


def written_to(url: str) -> ShardChangedError:
    """The error of a shard that changes under its readers."""
    return ShardChangedError(
        "a shard was written to, or cut, while it was open",
        remedy="Restore it, or index the dataset anew (`headrace index`) and open it again. To replace a shard, "
        "write the new one under another name and rename it",
        shard=url,
    )


def take_out_lost(opened: list[OpenShard | None], places: I32, samples: I64, faults: dict[int, HeadraceError]) -> None:
    """Takes out the rows whose samples a shard has lost since the dataset was indexed: it may have been cut short."""
    for number, shard in enumerate(opened):
        if shard is None or not shard.index.faults:
            continue
        lost = np.flatnonzero((places == number) & (samples >= shard.index.num_samples))
        faults.update(dict.fromkeys(lost.tolist(), shard.index.faults[0].error))
        places[lost] = -1


def reopened(dataset: DatasetIndex, capacity: int | None) -> ShardSet:
    """A shard set as it arrives in another process: nothing open."""
    return ShardSet(dataset, capacity=capacity)
