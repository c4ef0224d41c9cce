"""Objects on their way between processes: arrays and tensors stay where they are, or are copied once.

Pickle protocol 5 gives the memory of arrays and tensors as buffers beside its stream, wherever in a nested structure
they are. What lies in shared memory already is referred to by its place; what does not is copied there.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Callable, Sequence
from typing import Any

import cloudpickle
import numpy as np

from headrace.contracts import U8
from headrace.engine.processes.ranges import Sent
from headrace.engine.processes.worker_slots import WorkerSlots
from headrace.engine.slots import LEASE_FROM_BYTES

BUFFER_ALIGNMENT_BYTES = 64

PROTOCOL = 5
"""The first one with buffers outside of the stream."""


class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
    """Pickles functions and classes of notebooks and scripts by value, and tensors by their memory."""

    def reducer_override(self, value: Any) -> Any:
        """How to pickle a value; `NotImplemented` for its own way."""
        if type(value) is np.ndarray:
            return reduce_array(value)
        torch = sys.modules.get("torch")  # no tensor without torch, and no import of torch for those who do without
        if torch is not None and isinstance(value, torch.Tensor):
            from headrace.engine.processes.tensors import reduce_tensor

            return reduce_tensor(value)
        return super().reducer_override(value)


def reduce_array(array: np.ndarray[Any, Any]) -> Any:
    """Numpy itself would copy arrays that are not contiguous, or whose dtype the buffer protocol lacks (dates)."""
    if array.dtype.hasobject or array.size == 0:
        return NotImplemented
    if array.dtype.kind in "mM":
        return rebuild_dates, (array.view(np.int64), array.dtype)
    if not (array.flags.c_contiguous or array.flags.f_contiguous):
        return np.asarray, (np.ascontiguousarray(array),)
    return NotImplemented


def rebuild_dates(numbers: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """Dates and durations over memory that arrived."""
    return numbers.view(dtype)


def pickled(value: Any, buffer_callback: Callable[[pickle.PickleBuffer], Any]) -> memoryview:
    """The pickle of a value.

    Args:
        value: Anything.
        buffer_callback: Gets each buffer; what it answers tells whether the buffer is copied into the stream.
    """
    stream = io.BytesIO()
    Pickler(stream, protocol=PROTOCOL, buffer_callback=buffer_callback).dump(value)
    return stream.getbuffer()


Piece = tuple[int, int, int]
"""Range (its number in the parcel), first byte, size in bytes."""


class Parcel:
    """A value ready to be sent: a pickle, and where its buffers lie.

    `pieces` has one entry a buffer. The pickle itself is a
    piece too where it is long: then `body` is empty and the last piece holds it.
    """

    __slots__ = ("body", "pieces", "ranges")

    def __init__(self, body: bytes, pieces: Sequence[Piece], ranges: Sequence[Sent]) -> None:
        self.body = body
        self.pieces = pieces
        self.ranges = ranges

    def __reduce__(self) -> tuple[Any, ...]:
        return Parcel, (self.body, self.pieces, self.ranges)


class Packer:
    """Packs one value into the shared memory of a worker.

    Args:
        slots: Where copies go, and whose memory is referred to as it is.
    """

    def __init__(self, slots: WorkerSlots) -> None:
        self.slots = slots
        self.numbers: dict[int, int] = {}
        self.ends: list[int] = []
        self.pieces: list[Piece | None] = []
        self.copies: list[tuple[int, U8]] = []

    def pack(self, value: Any) -> Parcel:
        """The value as a parcel. Its ranges belong to the receiver from here on.

        Raises:
            Exception: Whatever the value's own pickling raises.
        """
        body = pickled(value, self.take)
        if body.nbytes >= LEASE_FROM_BYTES:
            self.copies.append((len(self.pieces), np.frombuffer(body, dtype=np.uint8)))
            self.pieces.append(None)
            body = memoryview(b"")
        kept = self.copy()
        ranges = [self.slots.known[address] for address in self.numbers]
        sent = [Sent(one.offset, end, one.send_away()) for one, end in zip(ranges, self.ends, strict=True)]
        del kept
        return Parcel(bytes(body), [piece for piece in self.pieces if piece is not None], sent)

    def take(self, buffer: pickle.PickleBuffer) -> bool:
        """Finds a place for a buffer; True where it is so small that it may lie in the stream."""
        raw = np.frombuffer(buffer.raw(), dtype=np.uint8)
        address: int = raw.__array_interface__["data"][0]
        place = self.slots.locate(address) if raw.nbytes else None
        if place is not None:
            self.pieces.append(self.piece(place[0].address, place[1], raw.nbytes))
        elif raw.nbytes < LEASE_FROM_BYTES:
            return True
        else:
            self.copies.append((len(self.pieces), raw))
            self.pieces.append(None)
        return False

    def piece(self, address: int, start: int, size_bytes: int) -> Piece:
        """A piece of the range that begins at this address."""
        number = self.numbers.setdefault(address, len(self.ends))
        if number == len(self.ends):
            self.ends.append(0)
        self.ends[number] = max(self.ends[number], start + size_bytes)
        return number, start, size_bytes

    def copy(self) -> U8 | None:
        """Copies what lies elsewhere into one range of shared memory; the array keeps it until it is sent away."""
        if not self.copies:
            return None
        starts = aligned_starts([raw.nbytes for _, raw in self.copies])
        memory = self.slots.allocate(max(starts[-1], LEASE_FROM_BYTES), np.uint8)
        address: int = memory.__array_interface__["data"][0]
        for (number, raw), start in zip(self.copies, starts, strict=False):
            memory[start : start + raw.nbytes] = raw
            self.pieces[number] = self.piece(address, start, raw.nbytes)
        return memory


def aligned_starts(sizes: Sequence[int]) -> list[int]:
    """Where pieces of these sizes begin when each is aligned; the last entry is the end of all."""
    starts = [0]
    for size in sizes:
        starts.append(-(-(starts[-1] + size) // BUFFER_ALIGNMENT_BYTES) * BUFFER_ALIGNMENT_BYTES)
    return starts


def unpack(parcel: Parcel, lease: Callable[[Sent], U8]) -> Any:
    """The value of a parcel. Its arrays and tensors look at the sender's memory, and hold the leases.

    Args:
        parcel: What arrived.
        lease: Gives the memory of a range.
    """
    memories = [lease(sent) for sent in parcel.ranges]
    buffers = [memories[number][start : start + size_bytes] for number, start, size_bytes in parcel.pieces]
    body = parcel.body or buffers.pop().data
    return pickle.loads(body, buffers=buffers)  # noqa: S301 - from a process of our own
