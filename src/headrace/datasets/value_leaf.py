"""A leaf that is no image: read as its field says, then through the user's function, if any."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from headrace import codecs
from headrace.contracts import ByteColumn, ValueColumn
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.field_reader import FieldReader
from headrace.datasets.fields import Entry
from headrace.datasets.plan import DecodeOptions
from headrace.datasets.undecoded import remedy_of_bytes
from headrace.datasets.values import Values, python_values, row_bytes
from headrace.errors import MissingFieldError, SampleError, TransformError


class ValueLeaf:
    """One such leaf. Notes the faults of its rows in the batch; holds nothing of a batch itself.

    Args:
        entry: The leaf.
        call: The user's transform, called with each value and the key of its row.
        options: How bytes are decoded.
        shares: Whether other leaves read the same field, so that its bytes are decoded once for all of them.
    """

    def __init__(
        self, entry: Entry, call: Callable[[Any, int], Any] | None, options: DecodeOptions, *, shares: bool = False
    ) -> None:
        self.entry = entry
        self.call = call
        self.reader = FieldReader(entry.field, options)
        self.shares = shares and self.reader.shares_documents
        self.holds_integers = all(codecs.kind_of(extension) == "integer" for extension in entry.extensions)

    def run(self, batch: BatchRun) -> Values:
        """The value of each row; a blank or None for a row with a fault, None for one that lacks the field and may."""
        values = self._values(batch)
        if self.call is None:
            return values if isinstance(values, np.ndarray) else list(values)
        return self._called(self.call, list(python_values(values)), batch)

    def _values(self, batch: BatchRun) -> Values:
        column = batch.columns[self.entry.name]
        if not isinstance(column, ByteColumn):
            if self.reader.passes(column.values) and not len(column.absent):
                return column.values
            return self._each(batch, self._given(column), self.reader.value)
        if self.holds_integers and self.reader.labels.as_numbers:
            numbers = codecs.decode_integers(column)
            if numbers is not None and self.reader.passes(numbers):
                return numbers  # labels of a whole batch at once, where they are what they should be
        if self.shares:
            return self._each(batch, self._documents(column, batch), self.reader.value)
        return self._each(batch, self._present(column), lambda one: self.reader.read(*one))

    def _given(self, column: ValueColumn) -> Iterator[tuple[int, Any]]:
        """Each row that has a value, and the value."""
        absent = set(column.absent.tolist())
        yield from ((row, value) for row, value in enumerate(python_values(column.values)) if row not in absent)

    def _present(self, column: ByteColumn) -> Iterator[tuple[int, tuple[str, bytes]]]:
        """Each row that has the field: its extension and its bytes."""
        extensions = self.entry.extensions
        for row, data in enumerate(row_bytes(column)):
            if data is not None:
                yield row, (extensions[0 if column.choices is None else column.choices[row]], data)

    def _documents(self, column: ByteColumn, batch: BatchRun) -> Iterable[tuple[int, Any]]:
        """What the codec makes of each row that has the field, made by the first leaf that asks."""
        found = batch.documents.get(self.entry.origin)
        if found is None:
            present = self._present(column)
            made = self._each(batch, present, lambda one: Document(self.reader.document(*one)))
            found = {row: one.value for row, one in enumerate(made) if isinstance(one, Document)}
            batch.documents[self.entry.origin] = found
        return found.items()

    def _each(self, batch: BatchRun, given: Iterable[tuple[int, Any]], make: Callable[[Any], Any]) -> list[Any]:
        """What is made of each given row: a blank where it has a fault, None where it is not given."""
        values: list[Any] = [None] * batch.num_rows
        for row, one in given:
            if row in batch.faults:
                continue
            try:
                values[row] = make(one)
            except MissingFieldError as error:
                batch.note_missing(row, error, self.entry.name)
            except SampleError as error:
                batch.faults.add(row, error, self.entry.name)
        for row in batch.faults.bad_rows():
            values[row] = self.reader.blank
        return values

    def _called(self, call: Callable[[Any, int], Any], values: list[Any], batch: BatchRun) -> list[Any]:
        for row, (value, key) in enumerate(zip(values, batch.context.keys.tolist(), strict=True)):
            if row in batch.faults:
                continue
            try:
                values[row] = call(value, key)
            except Exception as error:  # noqa: BLE001 - whatever the user's function raises belongs to this sample
                batch.faults.add_transform(row, error, self.entry.name)
                noted = batch.faults.errors[row]
                if isinstance(value, bytes) and isinstance(noted, TransformError):
                    noted.remedy = remedy_of_bytes(self.entry.name, self.entry.origin)
                values[row] = None
        return values


@dataclass(frozen=True, slots=True)
class Document:
    """What a codec has made of a field, which may be null."""

    value: Any
