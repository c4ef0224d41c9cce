"""Items of different lengths, end to end in one array of bytes: text, bytes, pickles.

Text is UTF-8. Lone surrogates, with which Python names files that are not valid text (`os.fsdecode`), keep their
three-byte form, which UTF-8 forbids (`surrogatepass`), so that every string reads back the same.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.contracts import I64, U8
from headrace.datasets.shared.own_classes import PROTOCOL, SCRIPT, OwnClasses
from headrace.datasets.shared.packed import Packed, Piece, Pieces
from headrace.datasets.shared.plain import NotPlainError, is_plain
from headrace.errors import OptionError

RaggedKind: TypeAlias = Literal["text", "bytes", "pickled"]


def decode_text(view: memoryview) -> str:
    """A string from its bytes."""
    return str(view, "utf-8", "surrogatepass")


DECODERS: dict[RaggedKind, Callable[[memoryview], Any]] = {
    "text": decode_text,
    "bytes": bytes,
    # Blocks are opened only if this very user has made them (block.py).
    "pickled": pickle.loads,
}


class RaggedColumn:
    """Reads items of different lengths.

    Args:
        kind: What the bytes of an item are.
        blob: All items end to end, shape (bytes,).
        offsets: Where each item begins, and where the last one ends, shape (items + 1,); unsigned.
        decode: Makes an item of its bytes; None for the way of its kind.
    """

    def __init__(
        self,
        kind: RaggedKind,
        blob: U8,
        offsets: npt.NDArray[Any],
        decode: Callable[[memoryview], Any] | None = None,
    ) -> None:
        self.layout: str = kind
        self.offsets = offsets
        # Views give Python numbers and slices without making an array for each.
        self.bounds = offsets.data
        self.blob = blob.data
        self.decode = decode or DECODERS[kind]

    def item(self, row: int) -> Any:
        """One item."""
        bounds = self.bounds
        return self.decode(self.blob[bounds[row] : bounds[row + 1]])

    def raw(self, row: int) -> memoryview:
        """The bytes of one item."""
        return self.blob[self.bounds[row] : self.bounds[row + 1]]

    def items(self, rows: I64) -> list[Any]:
        """Many items."""
        starts, stops = self.offsets[rows].tolist(), self.offsets[rows + 1].tolist()
        decode, blob = self.decode, self.blob
        return [decode(blob[start:stop]) for start, stop in zip(starts, stops, strict=True)]


class RaggedEncoder:
    """Collects the bytes of items, a piece a chunk.

    Args:
        kind: What the items are.
        place: Where in a record the column lies (`.boxes`), for errors.
        plain_only: Whether items that are pickled must be plain data.
    """

    def __init__(self, kind: RaggedKind, *, place: str = "", plain_only: bool = False) -> None:
        self.kind = kind
        self.place = place
        self.plain_only = plain_only
        self.pieces: list[Piece] = []
        self.lengths: list[I64] = []
        self.own = OwnClasses()

    def add(self, items: Sequence[Any], first: int) -> None:
        """Packs further items."""
        if self.kind == "text":
            piece, lengths = encode_texts(items)
        else:
            encoded = (
                items if self.kind == "bytes" else [self.pickle(item, first + at) for at, item in enumerate(items)]
            )
            piece, lengths = b"".join(encoded), lengths_of(encoded)
        self.pieces.append(piece)
        self.lengths.append(lengths)

    def pickle(self, item: Any, index: int) -> bytes:
        """One item as a pickle.

        Raises:
            OptionError: It cannot be pickled; names its index.
            NotPlainError: It is no plain data, and only that is wanted.
        """
        if self.plain_only and not is_plain(item):
            raise NotPlainError
        try:
            return pickled(item, self.own)
        except Exception as error:
            raise OptionError(
                f"item {index} cannot be kept in shared memory: {error}",
                field=self.place or None,
                got=f"{type(item).__module__}.{type(item).__qualname__}",
                accepted="text, bytes, numbers, arrays, tuples, lists and dicts of them, and all that can be pickled",
                remedy="Keep what it was made from (a path, bytes, an array) and make it when it is asked for",
            ) from error

    def finish(self) -> Packed:
        """All items: the bytes, then the offsets in the smallest type that holds them."""
        blob = Pieces(dtype=np.dtype(np.uint8), shape=(sum(map(len, self.pieces)),), buffers=self.pieces)
        offsets = offsets_of(self.lengths, blob.size_bytes)
        arrays, schema = [blob, offsets], {"kind": self.kind, "own_classes": bool(self.own.numbers)}
        if self.own.numbers:
            arrays.append(Pieces.of(np.frombuffer(self.own.table(), dtype=np.uint8)))
        return Packed(schema=schema, arrays=arrays, num_rows=offsets.shape[0] - 1)


def pickled(item: Any, own: OwnClasses) -> bytes:
    """An item as a pickle that any process of this user can load. Raises what pickling raises."""
    try:
        data = pickle.dumps(item, protocol=PROTOCOL)
    except (AttributeError, pickle.PicklingError):  # perhaps of a class inside of a function
        return own.dumps(item)
    return own.dumps(item) if SCRIPT.encode() in data else data


def offsets_of(lengths: Sequence[I64], size_bytes: int) -> Pieces:
    """Where each item begins, and the end.

    Piece by piece: freeing large arrays would make glibc keep more free memory for the process from then on
    (its thresholds adapt, see mallopt(3)).

    Args:
        lengths: The lengths of all items, in pieces.
        size_bytes: Their sum.
    """
    dtype = np.min_scalar_type(size_bytes)
    buffers: list[Piece] = [np.zeros(1, dtype=dtype)]
    end = 0
    for piece in lengths:
        buffers.append((end + np.cumsum(piece)).astype(dtype))
        end += int(piece.sum())
    return Pieces(dtype=dtype, shape=(1 + sum(map(len, lengths)),), buffers=buffers)


def encode_texts(items: Sequence[str]) -> tuple[bytes, I64]:
    """Strings end to end, and the length of each in bytes, shape (n,)."""
    joined = "".join(items)
    if joined.isascii():
        return joined.encode("ascii"), lengths_of(items)
    encoded = [item.encode("utf-8", "surrogatepass") for item in items]
    return b"".join(encoded), lengths_of(encoded)


def lengths_of(items: Sequence[str] | Sequence[bytes]) -> I64:
    """The length of each item, shape (n,)."""
    return np.fromiter(map(len, items), dtype=np.int64, count=len(items))
