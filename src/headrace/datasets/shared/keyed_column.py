"""Values under keys of text: two columns, and a table that leads from a key to its row.

Keys are hashed with 64 bits (XXH3, which gives the same in every process, unlike Python's own hash of text). The
leading bits of a hash name a bucket, of which there are one to two for each key; `order` holds the rows bucket by
bucket, `starts` where each bucket begins. The table is made by sorting, without a loop over keys, and looking one up
compares with one or two keys on average.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import xxhash

from headrace.contracts import I64
from headrace.datasets.shared.column import Column
from headrace.datasets.shared.packed import Packed, Pieces
from headrace.datasets.shared.ragged_column import RaggedColumn, RaggedEncoder

HASH_BITS = 64


class KeyTable:
    """Finds the rows whose keys have a hash.

    Args:
        starts: Where each bucket begins in `order`, and where the last one ends, shape (buckets + 1,).
        order: Rows, bucket by bucket, shape (keys,).
    """

    def __init__(self, starts: npt.NDArray[Any], order: npt.NDArray[Any]) -> None:
        self.starts = starts.data
        self.order = order.data
        self.shift = HASH_BITS - bucket_bits(len(order))

    def candidates(self, key: bytes) -> Sequence[int]:
        """The rows of the bucket that a key belongs to."""
        bucket = xxhash.xxh3_64_intdigest(key) >> self.shift
        return self.order[self.starts[bucket] : self.starts[bucket + 1]]


class KeyedColumn:
    """Reads values by key, or pairs of key and value by row."""

    def __init__(self, keys: RaggedColumn, table: KeyTable, values: Column) -> None:
        self.keys = keys
        self.table = table
        self.values = values
        self.layout = f"{keys.layout}: {values.layout}"

    def row_of(self, key: str) -> int | None:
        """The row of a key, None where it is not there."""
        encoded = key.encode("utf-8", "surrogatepass")
        for row in self.table.candidates(encoded):
            if self.keys.raw(row) == encoded:
                return row
        return None

    def item(self, row: int) -> Any:
        """One pair of key and value."""
        return self.keys.item(row), self.values.item(row)

    def items(self, rows: I64) -> list[Any]:
        """Many pairs of key and value."""
        return list(zip(self.keys.items(rows), self.values.items(rows), strict=True))


def pack_keyed(keys: Sequence[str], values: Packed) -> Packed:
    """Keys, their table, and their values.

    Args:
        keys: Each once.
        values: One for each key.
    """
    encoder = RaggedEncoder("text")
    encoder.add(keys, 0)
    packed = encoder.finish()
    starts, order = make_table(keys)
    arrays = [*packed.arrays, Pieces.of(starts), Pieces.of(order), *values.arrays]
    schema = {"kind": "keyed", "keys": packed.schema, "values": values.schema}
    return Packed(schema=schema, arrays=arrays, num_rows=len(keys))


def make_table(keys: Sequence[str]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The arrays of a `KeyTable`."""
    digest = xxhash.xxh3_64_intdigest
    hashes = np.fromiter((digest(key.encode("utf-8", "surrogatepass")) for key in keys), np.uint64, len(keys))
    bits, small = bucket_bits(len(keys)), np.min_scalar_type(len(keys))
    buckets = (hashes >> np.uint64(HASH_BITS - bits)).astype(np.int64)
    starts = np.zeros((1 << bits) + 1, dtype=small)
    np.cumsum(np.bincount(buckets, minlength=1 << bits), out=starts[1:])
    return starts, np.argsort(buckets, kind="stable").astype(small)


def bucket_bits(num_keys: int) -> int:
    """How many leading bits of a hash name its bucket: the buckets are a power of two, one to two for each key."""
    return max(1, num_keys.bit_length())
