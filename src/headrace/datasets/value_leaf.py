"""A leaf that is no image: decoded by the codec of its extension, then through the user's function, if any."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch

from headrace import codecs
from headrace.contracts import ByteColumn
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.fields import Entry
from headrace.datasets.plan import DecodeOptions
from headrace.datasets.values import Values, python_values, row_bytes
from headrace.errors import SampleError
from headrace.recipes.randomness import sample_randomness

BLANKS: Mapping[str, Any] = {"integer": 0, "text": "", "bytes": b""}
"""What stands in a row with a fault until a good row is put there, by kind; None where no value has a known shape.
It stays where a batch has no good row, so that even then the batch is of the kind that all others are."""


class ValueLeaf:
    """One such leaf. Notes the faults of its rows in the batch; holds nothing of a batch itself.

    Args:
        entry: The leaf.
        call: The user's function, called with each value.
        options: How bytes are decoded.
    """

    def __init__(self, entry: Entry, call: Callable[[Any], Any] | None, options: DecodeOptions) -> None:
        self.entry = entry
        self.call = call
        self.options = options
        self.holds_integers = all(codecs.kind_of(extension) == "integer" for extension in entry.extensions)

    def run(self, batch: BatchRun) -> Values:
        """The value of each row; a blank or None for a row with a fault, None for one that lacks the field and may."""
        column = batch.columns[self.entry.name]
        if not isinstance(column, ByteColumn):
            values: Values = column.values
        elif self.holds_integers and (numbers := codecs.decode_integers(column)) is not None:
            values = numbers  # labels of a whole batch at once, where they are what they should be
        else:
            values = self._decode(column, batch)
        if self.call is None:
            return values if isinstance(values, np.ndarray) else list(values)
        return self._called(self.call, list(python_values(values)), batch)

    def _decode(self, column: ByteColumn, batch: BatchRun) -> list[Any]:
        """Values by the codec: a blank for a row with a fault, None for one that lacks the field and may."""
        values: list[Any] = [None] * len(column.sizes)
        extensions = self.entry.extensions
        blank = BLANKS.get(codecs.kind_of(extensions[0]))
        for row, data in enumerate(row_bytes(column)):
            if row in batch.faults:
                values[row] = blank
            elif data is not None:
                extension = extensions[0 if column.choices is None else column.choices[row]]
                try:
                    values[row] = self._value(extension, data)
                except SampleError as error:
                    batch.faults.add(row, error, self.entry.name)
                    values[row] = blank
        return values

    def _value(self, extension: str, data: bytes) -> Any:
        """What the bytes of one row hold."""
        if self.entry.kind == "mask" and codecs.kind_of(extension) == "image":
            return torch.from_numpy(codecs.decode_mask(data, self.options.limits))
        return codecs.decode(extension, data, allow_pickle=self.options.allow_pickle)

    def _called(self, call: Callable[[Any], Any], values: list[Any], batch: BatchRun) -> list[Any]:
        for row, (value, key) in enumerate(zip(values, batch.context.keys.tolist(), strict=True)):
            if row in batch.faults:
                continue
            try:
                with sample_randomness(key):
                    values[row] = call(value)
            except Exception as error:  # noqa: BLE001 - whatever the user's function raises belongs to this sample
                batch.faults.add_transform(row, error, self.entry.name)
                values[row] = None
        return values
