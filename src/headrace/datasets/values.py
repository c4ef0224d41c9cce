"""Leaves that are no images: decoded by the codec of their extension, then through the user's function, if any."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace import codecs
from headrace.contracts import I64, U64, ByteColumn, Column
from headrace.datasets.faults import RowFaults
from headrace.datasets.fields import Entry
from headrace.errors import SampleError
from headrace.recipes.randomness import sample_randomness

Values: TypeAlias = Sequence[Any] | npt.NDArray[Any]
"""One value a row."""

BLANKS: Mapping[str, Any] = {"integer": 0, "text": "", "bytes": b""}
"""What stands in a row with a fault until a good row is put there, by kind; None where no value has a known shape.
It stays where a batch has no good row, so that even then the batch is of the kind that all others are."""


def python_values(values: Values) -> Sequence[Any]:
    """Python numbers rather than numpy's: a user's function gets what the dataset would have given it."""
    return values.tolist() if isinstance(values, np.ndarray) else values


def row_bytes(column: ByteColumn) -> Iterator[bytes | None]:
    """The bytes of each row, None where the sample lacks the field."""
    for address, size, present in zip(
        column.addresses.tolist(), column.sizes.tolist(), column.present.tolist(), strict=True
    ):
        yield ctypes.string_at(address, size) if present else None


def decode_values(
    column: Column,
    entry: Entry,
    call: Callable[[Any], Any] | None,
    allow_pickle: tuple[str, ...],
    keys: U64,
    faults: RowFaults,
) -> Values:
    """Values of one leaf; a blank for a row with a fault, None for one that lacks the field and may."""
    if isinstance(column, ByteColumn):
        numbers = _integers(column, entry)
        if numbers is not None and call is None:
            return numbers
        values = numbers.tolist() if numbers is not None else _decode(column, entry, allow_pickle, faults)
    elif call is None:
        return column.values if isinstance(column.values, np.ndarray) else list(column.values)
    else:
        values = list(python_values(column.values))
    if call is not None:
        _call_each(call, values, keys, entry.name, faults)
    return values


def _integers(column: ByteColumn, entry: Entry) -> I64 | None:
    """Labels of a whole batch at once, where they are what they should be."""
    if any(codecs.kind_of(extension) != "integer" for extension in entry.extensions):
        return None
    return codecs.decode_integers(column)


def _decode(column: ByteColumn, entry: Entry, allow_pickle: tuple[str, ...], faults: RowFaults) -> list[Any]:
    values: list[Any] = [None] * len(column.sizes)
    blank = BLANKS.get(codecs.kind_of(entry.extensions[0]))
    for row, data in enumerate(row_bytes(column)):
        if row in faults:
            values[row] = blank
        elif data is not None:
            extension = column.extensions[row] if column.extensions is not None else entry.extensions[0]
            try:
                values[row] = codecs.decode(extension, data, allow_pickle=allow_pickle)
            except SampleError as error:
                faults.add(row, error, entry.name)
                values[row] = blank
    return values


def _call_each(call: Callable[[Any], Any], values: list[Any], keys: U64, field: str, faults: RowFaults) -> None:
    for row, (value, key) in enumerate(zip(values, keys.tolist(), strict=True)):
        if row in faults:
            continue
        try:
            with sample_randomness(key):
                values[row] = call(value)
        except Exception as error:  # noqa: BLE001 - whatever the user's function raises belongs to this sample
            faults.add_transform(row, error, field)
            values[row] = None
