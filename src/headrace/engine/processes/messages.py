"""What workers tell the trainer, and how it goes over a socket."""

from __future__ import annotations

import pickle
import struct
from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

from headrace.engine.events import Event
from headrace.engine.processes.carried_errors import CarriedError
from headrace.engine.processes.parcels import Parcel

LENGTH = struct.Struct("<I")


class Brief(NamedTuple):
    """From the trainer: all that a worker needs, once it is there to be read. Short: nobody waits until it is taken."""

    contents: int
    """Where the file of the work says what it holds."""
    board_offset: int
    num_workers: int
    max_free_bytes: int
    idle_s: float
    num_threads: int | None


class Made(NamedTuple):
    """A batch."""

    iteration: int
    position: int
    parcel: Parcel
    size_bytes: int
    events: list[Event]


class Failed(NamedTuple):
    """A step that raised."""

    iteration: int
    position: int
    stage: str
    error: CarriedError
    events: list[Event]


class Unready(NamedTuple):
    """A worker that cannot take up its work, and ends."""

    error: CarriedError


Message: TypeAlias = Made | Failed | Unready


def framed(message: Message | Brief) -> bytes:
    """The bytes of a message, its length before it."""
    data = pickle.dumps(message, protocol=5)
    return LENGTH.pack(len(data)) + data


class Inbox:
    """Puts messages together again from the pieces in which they arrive."""

    def __init__(self) -> None:
        self.data = bytearray()

    def feed(self, piece: bytes) -> Iterator[Message | Brief]:
        """The messages that are complete with this piece."""
        self.data += piece
        while len(self.data) >= LENGTH.size:
            end = LENGTH.size + LENGTH.unpack_from(self.data)[0]
            if len(self.data) < end:
                return
            message = pickle.loads(memoryview(self.data)[LENGTH.size : end].tobytes())  # noqa: S301 - our own processes
            del self.data[:end]
            yield message
