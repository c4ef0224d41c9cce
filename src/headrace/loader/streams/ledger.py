"""What the streams of a rank have delivered in the epoch that is being read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from headrace.loader.place import Place
from headrace.loader.streams.turns import Read, Turn
from headrace.order import StreamPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """Where all streams of a rank stand, between two batches."""

    epoch: int
    turn: int = 0
    """Stream that the next batch comes from, if it has one."""
    padding: int = 0
    """Batches behind the end of all streams."""
    streams: tuple[StreamPlace, ...]

    @property
    def place(self) -> Place:
        """As a place of the loader."""
        return Place(epoch=self.epoch, batches=sum(one.batches for one in self.streams) + self.padding)

    @property
    def num_samples(self) -> int:
        """Samples that were delivered, padding apart."""
        return sum(one.samples for one in self.streams)


@dataclass(slots=True)
class Ledger:
    """Booked by the consumer, batch by batch; looked at by whoever pulls steps ahead of him."""

    standing: Standing
    ended: list[bool] = field(init=False)
    """Of each stream, whether it is known to have nothing more."""
    num_left_out: int = 0
    """Samples that `drop_last` has left out at the ends of streams."""

    def __post_init__(self) -> None:
        self.ended = [one.ended for one in self.standing.streams]

    def book(self, turn: Turn, read: Read) -> None:
        """A turn has come to the consumer."""
        before = self.standing
        if turn.pads:
            self.standing = replace(before, padding=before.padding + 1)
            return
        streams = list(before.streams)
        place = streams[turn.stream]
        if read.made is None:
            streams[turn.stream] = replace(place, ended=True)
            self.num_left_out += read.num_left_out
        else:
            streams[turn.stream] = StreamPlace(
                batches=place.batches + 1,
                samples=place.samples + read.num_samples,
                ended=read.ended,
                dataset=read.state,
            )
        self.standing = replace(before, turn=(turn.stream + 1) % len(streams), streams=tuple(streams))
        self.ended[turn.stream] = read.ended


def first_standing(epoch: int, num_streams: int) -> Standing:
    """The beginning of an epoch."""
    return Standing(epoch=epoch, streams=(StreamPlace(),) * num_streams)


def lasting(streams: Sequence[StreamPlace]) -> int | None:
    """The first stream that has delivered something, and so can be read again; None where none has."""
    return next((number for number, one in enumerate(streams) if one.samples), None)
