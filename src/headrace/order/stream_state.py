"""Where a run stands that reads streams: datasets that can only be iterated over."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from headrace.order.state_values import (
    COUNT,
    FLAG,
    POSITIVE,
    TEXT,
    Accepted,
    check_same,
    damaged,
    is_count,
    read_values,
    write_values,
)

SAVED_BY_EACH = "Each rank saves a state of its own, and loads that one: name the file by the rank"

REMEDIES = {
    "fingerprint": "Load the state with the dataset that it was saved with",
    "seed": "Make the loader with seed={saved}",
    "world_size": "Go on with world_size={saved}: streams cannot be dealt anew in the middle of an epoch",
    "rank": SAVED_BY_EACH,
    "num_streams": "Make the loader with as many streams a rank as then, {saved}: num_workers={saved}, or as it was",
    "batch_size": "Make the loader with the same batch_size",
    "drop_last": "Make the loader with drop_last={saved}",
}
"""Fields that must be the same, the most telling first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamPlace:
    """Where one stream of a rank stands."""

    batches: int = 0
    """Batches of it that were delivered."""
    samples: int = 0
    """Samples in those."""
    ended: bool = False
    """Whether it has nothing more to give in this epoch."""
    dataset: Any = None
    """What the dataset's own `state_dict` gave after those samples; None where it has none, or nothing was read."""


def is_place(value: object) -> bool:
    """Whether this is a `StreamPlace` as a dict."""
    if not isinstance(value, Mapping) or set(value) != {field.name for field in fields(StreamPlace)}:
        return False
    return is_count(value["batches"]) and is_count(value["samples"]) and isinstance(value["ended"], bool)


PLACES = Accepted(
    "a list of places of streams", lambda value: isinstance(value, list | tuple) and all(map(is_place, value))
)

SPECIAL: Mapping[str, Accepted] = {
    "fingerprint": TEXT,
    "drop_last": FLAG,
    "streams": PLACES,
    **dict.fromkeys(("world_size", "num_streams"), POSITIVE),
}
"""What the fields hold that are no counts from 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamsState:
    """A position in the streams of one rank; means something on the same number of ranks and streams only."""

    fingerprint: str
    """Of the dataset."""
    seed: int
    world_size: int
    rank: int
    num_streams: int
    """Streams of this rank."""
    batch_size: int
    """Samples of a batch; 0 where samples are delivered by themselves."""
    drop_last: bool
    epoch: int
    """Epoch that the next batch belongs to."""
    batches_delivered: int
    """Batches of that epoch that this rank delivered."""
    turn: int
    """Stream that the next batch comes from, if it has one."""
    padding: int = 0
    """How many of those repeat others, behind the end of all streams, to keep the ranks even."""
    streams: tuple[StreamPlace, ...] = ()
    """Where each stands; none at the beginning of an epoch."""

    def to_dict(self) -> dict[str, Any]:
        """The state as JSON-serialisable values, as far as the dataset's own states are."""
        bare = asdict(replace(self, streams=()))
        places = [{field.name: getattr(one, field.name) for field in fields(one)} for one in self.streams]
        return write_values("streams", bare | {"streams": places})

    @staticmethod
    def from_dict(state: Mapping[str, Any]) -> StreamsState:
        """The state that `to_dict` wrote.

        Raises:
            OrderError: Another kind or a newer format, or a field that is missing, unknown or holds what it cannot.
        """
        accepted = {field.name: SPECIAL.get(field.name, COUNT) for field in fields(StreamsState)}
        values = read_values("streams", state, accepted)
        read = StreamsState(**values | {"streams": tuple(StreamPlace(**one) for one in values["streams"])})
        read.check_whole()
        return read

    def check_same_run(self, current: StreamsState) -> None:
        """Checks that a loader whose own state is `current` can go on from this one.

        Raises:
            OrderError: Another dataset, seed, rank or number of them, of streams, or batch; field and values are named.
        """
        for name, remedy in REMEDIES.items():
            saved = getattr(self, name)
            check_same(name, saved, getattr(current, name), remedy.format(saved=saved))

    def check_whole(self) -> None:
        """Parts of a state that contradict each other were not written by a loader.

        Raises:
            OrderError: The places of the streams are too many or too few, or their batches do not add up.
        """
        num_places = len(self.streams)
        delivered = sum(one.batches for one in self.streams) + self.padding
        is_begun = self.batches_delivered > 0
        if num_places != (self.num_streams if is_begun else 0) or self.turn >= self.num_streams:
            raise damaged(
                "the number of streams makes no sense",
                got=f"{num_places} places of {self.num_streams} streams, the turn at {self.turn}",
                accepted="a place for each stream, or none before the first batch",
            )
        if delivered != self.batches_delivered:
            raise damaged(
                "the batches do not add up",
                got=f"batches_delivered={self.batches_delivered}, {delivered} in streams and padding",
                accepted="the same number",
            )
