"""One column from pieces that were fetched one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.contracts import I64, NO_ROWS, ByteColumn, Column, InMemory, ValueColumn
from headrace.datasets.values import python_values


def merge_columns(pieces: Sequence[tuple[I64, Column]], num_rows: int) -> Column:
    """One column from pieces that hold some of its rows each."""
    if len(pieces) == 1:
        return pieces[0][1]
    if all(isinstance(column, ByteColumn) for _, column in pieces):
        return merge_bytes([(rows, column) for rows, column in pieces if isinstance(column, ByteColumn)], num_rows)
    return merge_values([(rows, column) for rows, column in pieces if isinstance(column, ValueColumn)], num_rows)


def merge_values(pieces: Sequence[tuple[I64, ValueColumn]], num_rows: int) -> ValueColumn:
    """One column of values; an array where all pieces have arrays of one type."""
    if sum(len(rows) for rows, _ in pieces) < num_rows:
        raise TypeError("a field holds bytes in one part and values in another")
    arrays = [column.values for _, column in pieces if isinstance(column.values, np.ndarray)]
    alike = len(arrays) == len(pieces) and len({array.dtype for array in arrays}) == 1
    values: Any = np.empty(num_rows, dtype=arrays[0].dtype) if alike else [None] * num_rows
    for rows, column in pieces:
        if alike:
            values[rows] = column.values
            continue
        for row, value in zip(rows.tolist(), python_values(column.values), strict=True):
            values[row] = value
    absent = np.sort(np.concatenate([NO_ROWS, *(rows[column.absent] for rows, column in pieces)]))
    return ValueColumn(values=values, absent=absent)


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
        place=InMemory(addresses=addresses, owner=[column.memory.owner for _, column in pieces]),
        sizes=sizes,
        absent=np.sort(np.concatenate([NO_ROWS, *(rows[column.absent] for rows, column in pieces)])),
        choices=choices if any(column.choices is not None for _, column in pieces) else None,
        faults={int(rows[row]): error for rows, column in pieces for row, error in column.faults.items()},
    )
