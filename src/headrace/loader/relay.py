"""A stream of batches that another engine may go on with between two of them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import TypeAlias

from headrace.contracts import Delivered
from headrace.loader.place import Place

Relieve: TypeAlias = Callable[[Place], Iterator[Delivered] | None]


class Relay(Iterator[Delivered]):
    """Asks before each batch whether somebody else goes on from there.

    Several threads may take batches: it knows itself how many were taken.

    Args:
        stream: The batches from a place to the end of its epoch.
        place: That place.
        relieve: Gives the batches from a place on, of those who take over; None as long as nobody does.
    """

    def __init__(self, stream: Iterator[Delivered], place: Place, relieve: Relieve) -> None:
        self.stream = stream
        self.place = place
        self.relieve: Relieve | None = relieve
        self.turn = threading.RLock()

    def __next__(self) -> Delivered:
        with self.turn:
            relieved = self.relieve(self.place) if self.relieve is not None else None
            if relieved is not None:
                self.stream, self.relieve = relieved, None
            try:
                delivered = next(self.stream)
            except BaseException:
                self.relieve = None  # what has ended, or failed, does not go on elsewhere
                raise
            self.place = self.place.after_batch()
            return delivered
