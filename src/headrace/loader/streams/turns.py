"""What goes to whoever reads a stream, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from headrace.loader.made import Made
from headrace.loader.streams.snapshot import Snapshot
from headrace.order import StreamPlace


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """How a stream is opened."""

    place: StreamPlace
    """Where it goes on."""
    dataset: Snapshot | None
    """The dataset as it is now, where it has changed since the workers were sent it."""
    looks: bool
    """Whether to tell what it begins with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """The task of a step: whose turn it is."""

    run: int
    """Number of the iteration, among all of this process; in another one, streams are opened anew."""
    stream: int
    number: int
    """Turns of this stream before it, in this iteration."""
    pads: bool
    """Whether it repeats the stream from its beginning, since the rank has to make steps that others still make."""
    opening: Opening | None
    """With the first turn of a stream, and with all that pad."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """What a turn has brought."""

    made: Made | None
    """A batch; None where the stream has none any more."""
    num_samples: int
    """Samples in it."""
    num_left_out: int
    """Samples at the end of the stream that are too few for a batch, with `drop_last`."""
    ended: bool
    """Whether the stream has nothing behind it."""
    state: Any
    """Where the dataset says that it stands now; None where it does not say."""
    beginning: str | None
    """A hash of the first samples of the stream, once they are read and where that was asked for."""
