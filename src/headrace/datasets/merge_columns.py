"""One column from pieces that were fetched one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.contracts import I64, NO_ROWS, ByteColumn, Column, ValueColumn


def merge_columns(pieces: Sequence[tuple[I64, Column]], num_rows: int) -> Column:
    """One column from pieces that hold some of its rows each."""
    if len(pieces) == 1:
        return pieces[0][1]
    if all(isinstance(column, ByteColumn) for _, column in pieces):
        return merge_bytes([(rows, column) for rows, column in pieces if isinstance(column, ByteColumn)], num_rows)
    values: list[Any] = [None] * num_rows
    for rows, column in pieces:
        if not isinstance(column, ValueColumn):
            raise TypeError("a field holds bytes in one part and values in another")
        for row, value in zip(rows, column.values, strict=True):
            values[row] = value
    return ValueColumn(values=values)


def merge_bytes(pieces: Sequence[tuple[I64, ByteColumn]], num_rows: int) -> ByteColumn:
    """One column of bytes; pieces have equal fields, so that a choice means the same in each."""
    if len(pieces) == 1:
        return pieces[0][1]
    addresses = np.zeros(num_rows, dtype=np.uint64)
    sizes = np.zeros(num_rows, dtype=np.uint64)
    choices = np.zeros(num_rows, dtype=np.int32)
    for rows, column in pieces:
        addresses[rows], sizes[rows] = column.addresses, column.sizes
        if column.choices is not None:
            choices[rows] = column.choices
    return ByteColumn(
        addresses=addresses,
        sizes=sizes,
        absent=np.sort(np.concatenate([NO_ROWS, *(rows[column.absent] for rows, column in pieces)])),
        owner=[column.owner for _, column in pieces],
        choices=choices if any(column.choices is not None for _, column in pieces) else None,
        faults={int(rows[row]): error for rows, column in pieces for row, error in column.faults.items()},
    )
