"""Shards that are open: a bounded number at a time, from several threads."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

from headrace._base.forks import renew_after_fork
from headrace._base.machine import read_machine
from headrace._base.open_files import OPEN_FILES
from headrace.errors import OptionError, ShardChangedError, StorageError
from headrace.shards.dataset_index import DatasetIndex
from headrace.shards.index import ShardIndex
from headrace.shards.open_shard import OpenShard
from headrace.shards.shard_info import ShardInfo

LEAST_INDEX_BYTES, MOST_INDEX_BYTES, PART_OF_MEMORY = 32 << 20, 512 << 20, 256
"""Memory that the indexes of all open shards of this process may take together before idle shards are closed: a part of
the machine's between these bounds, for half a million to eight million samples. Each process has its own."""


@cache
def most_index_bytes() -> int:
    """The same for this machine, or the control groups that bound it."""
    return min(max(read_machine().memory_total_bytes // PART_OF_MEMORY, LEAST_INDEX_BYTES), MOST_INDEX_BYTES)


@dataclass(slots=True)
class Place:
    """A shard's place among the open ones."""

    opening: threading.Lock = field(default_factory=threading.Lock)
    shard: OpenShard | None = None
    num_users: int = 0


class OpenShards:
    """Opens the shards of a dataset when they are first used, and closes the least recently used ones.

    Every method may be called from several threads. A shard that is reserved is never closed. All datasets of the
    process together reserve, and keep open, only as many as `OPEN_FILES` allows; who wants more waits for the others.

    Args:
        dataset: The dataset's index; each shard is checked against it when it is opened.
        capacity: Shards of this dataset that are kept open; None: as many as are for all datasets together.
    """

    def __init__(self, dataset: DatasetIndex, *, capacity: int | None = None) -> None:
        if capacity is not None and capacity < 1:
            raise OptionError("capacity is not accepted", got=capacity, accepted="a positive integer, or None")
        self.dataset = dataset
        self.capacity = capacity
        self.after_fork()
        renew_after_fork(self)
        with OPEN_FILES.turn:
            ALL_SHARDS.add(self)

    def after_fork(self) -> None:
        """In a forked child nothing is open."""
        self.places: OrderedDict[int, Place] = OrderedDict()
        self.index_bytes = 0

    def __len__(self) -> int:
        return len(self.places)

    def reserve(self, shards: Sequence[int]) -> None:
        """Keeps these shards, all different, from being closed until they are released.

        Waits until other threads have released enough of theirs. A thread that holds some may only ask for those again.
        """
        OPEN_FILES.settle()
        with OPEN_FILES.turn:
            OPEN_FILES.turn.wait_for(lambda: OPEN_FILES.fits(self._num_unused(shards)))
            OPEN_FILES.num_in_use += self._num_unused(shards)
            num_before = len(self.places)
            for shard in shards:
                place = self.places.get(shard)
                if place is None:
                    place = self.places[shard] = Place()
                place.num_users += 1
                self.places.move_to_end(shard)
            if len(self.places) > num_before:
                self._close_surplus()

    def release(self, shards: Sequence[int]) -> None:
        """Gives reserved shards back; idle ones beyond the capacity are closed."""
        with OPEN_FILES.turn:
            num_unused = 0
            for shard in shards:
                place = self.places[shard]
                place.num_users -= 1
                num_unused += place.num_users == 0
                if place.shard is None and place.num_users == 0:
                    del self.places[shard]  # it could not be opened
            if num_unused:
                OPEN_FILES.give_back(num_unused)
                self._close_surplus()

    def get(self, shard: int) -> OpenShard:
        """A reserved shard, opened now unless it is open.

        Raises:
            ShardError: It is not what its index, or that of the dataset, says.
            StorageError: It cannot be opened.
        """
        place = self.places[shard]
        if place.shard is not None:
            return place.shard
        with place.opening:
            if place.shard is None:
                opened = self._open(shard)
                with OPEN_FILES.turn:
                    place.shard = opened
                    self.index_bytes += opened.index.size_in_memory
            return place.shard

    def close_idle(self) -> None:
        """Closes all shards that are not reserved. They open again when they are asked for."""
        OPEN_FILES.settle()
        with OPEN_FILES.turn:
            self._close_idle(len(self.places), 0)

    def _num_unused(self, shards: Sequence[int]) -> int:
        """How many of these nobody has reserved. The lock is held."""
        return sum(1 for shard in shards if shard not in self.places or self.places[shard].num_users == 0)

    def _open(self, shard: int) -> OpenShard:
        info = self.dataset.shards[shard]
        try:
            opened = OpenShard.open(info.url, on_error=self.dataset.on_error)
        except StorageError:
            close_all_idle()  # perhaps the program has too many files open
            opened = OpenShard.open(info.url, on_error=self.dataset.on_error)
        if not opened.index.faults and (changed := change_of(opened.index, info)) is not None:
            opened.close()
            raise changed
        return opened

    def _close_surplus(self) -> None:
        """Closes idle shards of this dataset beyond what it, and all datasets together, may have. The lock is held."""
        excess = sum(map(len, ALL_SHARDS)) - OPEN_FILES.capacity
        if self.capacity is not None:
            excess = max(excess, len(self.places) - self.capacity)
        excess_bytes = sum(one.index_bytes for one in ALL_SHARDS) - most_index_bytes()
        if excess > 0 or excess_bytes > 0:
            self._close_idle(excess, excess_bytes)

    def _close_idle(self, num: int, num_bytes: int) -> None:
        """Closes at least so many idle shards, and so much of their indexes, least recently used first."""
        idle = [shard for shard, place in self.places.items() if place.num_users == 0]
        end_bytes = self.index_bytes - num_bytes
        for number, shard in enumerate(idle):
            if number >= num and self.index_bytes <= end_bytes:
                break
            opened = self.places.pop(shard).shard
            if opened is not None:
                self.index_bytes -= opened.index.size_in_memory
                opened.close()


def change_of(index: ShardIndex, info: ShardInfo) -> ShardChangedError | None:
    """The error of a shard that is another one than the dataset index lists, None where it is the same.

    The number of samples alone would not tell: shards that are cut by number all hold the same one. Nor would the size
    where samples are of equal size. Headers hold names, sizes and times of members, and are
    read at each opening anyway.
    """
    what: str
    got: object
    listed: object
    if index.num_samples != info.num_samples:
        what, got, listed = "holds another number of samples", index.num_samples, info.num_samples
    elif index.size_bytes != info.size_bytes:
        what, got, listed = "has another size in bytes", index.size_bytes, info.size_bytes
    elif differ(index.md5, info.md5):
        what, got, listed = "has another checksum", index.md5, info.md5
    elif differ(index.headers, info.headers):
        what, got, listed = "holds other members", "headers of other members", "those that it held"
    else:
        return None
    return ShardChangedError(
        f"a shard {what} than when the dataset was opened or indexed",
        got=got,
        accepted=listed,
        remedy="Index the dataset anew (`headrace index`) and open it again, or restore the shard",
        shard=info.url,
    )


def differ(found: str | None, listed: str | None) -> bool:
    """Whether two facts are known and not the same."""
    return found is not None and listed is not None and found != listed


ALL_SHARDS: weakref.WeakSet[OpenShards] = weakref.WeakSet()
"""The open shards of every dataset of this process."""


def close_all_idle() -> None:
    """Closes the idle shards of every dataset."""
    for one in list(ALL_SHARDS):
        one.close_idle()
