"""Shards that are open: a bounded number at a time, from several threads."""

from __future__ import annotations

import resource
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from headrace._base.forks import renew_after_fork
from headrace.errors import OptionError, ShardChangedError, StorageError
from headrace.shards.dataset_index import DatasetIndex
from headrace.shards.open_shard import OpenShard

MOST_OPEN = 1024
"""Shards kept open by default, where the limit on open files allows it."""


@dataclass(slots=True)
class Place:
    """A shard's place among the open ones."""

    opening: threading.Lock = field(default_factory=threading.Lock)
    shard: OpenShard | None = None
    num_users: int = 0


class OpenShards:
    """Opens the shards of a dataset when they are first used, and closes the least recently used ones.

    Every method may be called from several threads. A shard that is reserved is never closed: while more shards are
    reserved at once than `capacity`, more are open.

    Args:
        dataset: The dataset's index; each shard is checked against it when it is opened.
        capacity: Shards kept open; None: a quarter of the limit on open files, 1,024 at most.
    """

    def __init__(self, dataset: DatasetIndex, *, capacity: int | None = None) -> None:
        if capacity is not None and capacity < 1:
            raise OptionError("capacity is not accepted", got=capacity, accepted="a positive integer, or None")
        self.dataset = dataset
        self.capacity = capacity or default_capacity()
        self.after_fork()
        renew_after_fork(self)

    def after_fork(self) -> None:
        """In a forked child nothing is open, and no thread holds a lock."""
        self.lock = threading.Lock()
        self.places: OrderedDict[int, Place] = OrderedDict()

    def __len__(self) -> int:
        return len(self.places)

    def reserve(self, shards: Sequence[int]) -> None:
        """Keeps these shards from being closed until they are released."""
        with self.lock:
            for shard in shards:
                place = self.places.get(shard)
                if place is None:
                    place = self.places[shard] = Place()
                place.num_users += 1
                self.places.move_to_end(shard)

    def release(self, shards: Sequence[int]) -> None:
        """Gives reserved shards back; idle ones beyond the capacity are closed."""
        with self.lock:
            for shard in shards:
                place = self.places[shard]
                place.num_users -= 1
                if place.shard is None and place.num_users == 0:
                    del self.places[shard]  # it could not be opened
            if len(self.places) > self.capacity:
                self._evict(self.capacity)

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
                place.shard = self._open(shard)
            return place.shard

    def close_idle(self) -> None:
        """Closes all shards that are not reserved. They open again when they are asked for."""
        with self.lock:
            self._evict(0)

    def _open(self, shard: int) -> OpenShard:
        info = self.dataset.shards[shard]
        try:
            opened = OpenShard.open(info.url, on_error=self.dataset.on_error)
        except StorageError:
            self.close_idle()  # perhaps too many files are open
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

    def _evict(self, capacity: int) -> None:
        """Closes idle shards, least recently used first, until `capacity` are left. The lock is held."""
        excess = len(self.places) - capacity
        for shard, place in list(self.places.items()):
            if excess <= 0:
                return
            if place.num_users == 0:
                if place.shard is not None:
                    place.shard.close()
                del self.places[shard]
                excess -= 1


def default_capacity() -> int:
    """A quarter of this process's limit on open files, 1,024 at most."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return MOST_OPEN
    return max(1, min(MOST_OPEN, soft // 4))
