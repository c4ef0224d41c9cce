"""The consumer's end of a flight: batches in order, errors at their place, a prompt end."""

from __future__ import annotations

import threading
import time
from typing import NoReturn

from headrace.contracts import Delivered
from headrace.engine.flight import Flight
from headrace.engine.passage import Ending, Passage
from headrace.engine.patience import Patience
from headrace.engine.step_errors import closed_error
from headrace.errors import LoaderClosedError


class Consumer:
    """Takes from a flight. Several threads may take; each batch goes to one of them.

    It keeps the batch that it handed over last until it is asked for the next one, so that the caller's is not the
    last reference (see `Flight.deliver`).
    """

    def __init__(self, flight: Flight) -> None:
        self.flight = flight
        self.last: Delivered | None = None
        self.turn = threading.Lock()
        self.finished = False

    def take(self) -> Delivered:
        """The next batch in the order of the steps.

        Raises:
            StopIteration: After the last one.
            LoaderClosedError: The flight is closed, or belongs to the parent of this process.
            BaseException: What the work or the iterator of steps raised for this step.
        """
        if self.flight.lifetime.forked:
            raise LoaderClosedError(
                "this iterator belongs to the process that this one was forked from",
                remedy="Iterate over the loader anew in this process.",
            )
        asked_s = time.perf_counter()
        with self.turn:
            arrival = self.next_arrival()
        if isinstance(arrival, Ending):
            self.finish(arrival)
        self.flight.recorder.wait("deliver", time.perf_counter() - asked_s)
        self.last = delivered = self.flight.deliver(arrival, self.last)
        return delivered

    def next_arrival(self) -> Passage | Ending:
        """Waits for the arrival whose turn it is."""
        if self.finished:
            raise StopIteration
        arrival, num_ready, patience = None, None, Patience(self.flight)
        while arrival is None:
            closed = self.flight.lifetime.closed
            if closed is not None:
                raise closed_error(closed)
            try:
                patience.check()
                if num_ready is None:
                    num_ready = self.flight.arrivals.num_ready()
                arrival = self.flight.arrivals.take(patience.until_s)
            except BaseException:  # Ctrl-C: must be prompt, and perhaps nobody comes back to close this
                self.flight.abandon()
                raise
        if isinstance(arrival, Passage):
            self.flight.recorder.fill("ready", num_ready or 0, self.flight.options.max_in_flight)
        return arrival

    def finish(self, ending: Ending) -> NoReturn:
        """Closes, then raises what stands at the end."""
        error, ending.error = ending.error, None
        self.finished = error is None
        self.close()
        if error is None:
            raise StopIteration
        try:
            raise error
        finally:
            del error  # its traceback leads to this frame, which would lead back to it

    def close(self, kind: type[LoaderClosedError] = LoaderClosedError) -> None:
        """Ends the flight; `kind` is what a later `take` raises."""
        self.last = None
        self.flight.close(kind)

    def abandon(self) -> None:
        """Ends the flight without waiting and without taking a lock."""
        self.flight.abandon()
