"""One batch while it is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from headrace.contracts import U64, ByteColumn, Column, ValueColumn
from headrace.datasets.context import BatchContext
from headrace.datasets.faults import RowFaults
from headrace.datasets.fields import SampleShape
from headrace.errors import MissingFieldError
from headrace.recipes import Rows
from headrace.recipes.joint.cropping import Cropping


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchRun:
    """The bytes of a batch, what it needs, and what is wrong with its rows so far."""

    columns: Mapping[str, Column]
    context: BatchContext
    faults: RowFaults
    documents: dict[tuple[str, ...], dict[int, Any]] = field(default_factory=dict)
    """What codecs have made of the rows of fields that several leaves read: by their origin, then by row."""
    croppings: dict[str, Cropping] = field(default_factory=dict)
    """What decides the crops of images that depend on boxes: by the name of the leaf."""
    ready: Mapping[str, Rows] = field(default_factory=dict)
    """Images that are made already, together with other views of them: by the name of the leaf."""

    @classmethod
    def begin(cls, shape: SampleShape, columns: Mapping[str, Column], context: BatchContext) -> BatchRun:
        """A batch with the faults that its source has found, and those of fields that samples lack."""
        run = cls(columns=columns, context=context, faults=RowFaults(len(context.keys)))
        for entry in shape.entries:
            run.note_absent(columns[entry.name], entry.name)
        return run

    def of_view(self, keys: U64, ready: Mapping[str, Rows]) -> BatchRun:
        """The same batch, with the same faults, as one of its views."""
        return replace(self, context=replace(self.context, keys=keys), ready=ready, croppings={})

    @property
    def num_rows(self) -> int:
        """Rows of the batch."""
        return self.faults.num_rows

    def note_absent(self, column: Column, name: str) -> None:
        """Notes the rows of a column that could not be had, and those that lack it where that is a fault."""
        for row, error in column.faults.items() if isinstance(column, ByteColumn) else ():
            if isinstance(error, MissingFieldError):
                self.note_missing(row, error, name)
            else:
                self.faults.add(row, error, name)
        for row in column.absent.tolist():
            self.note_missing(row, MissingFieldError("a sample lacks a field"), name)

    def note_missing(self, row: int, error: MissingFieldError, name: str) -> None:
        """Notes that a row lacks a field, or a part of it, where that is a fault: no value stands in its place."""
        if self.context.policy.missing == "none":
            return
        error.remedy = 'missing="skip" leaves such samples out, missing="none" gives None in its place'
        self.faults.add(row, error, name)

    def bytes_of(self, name: str) -> ByteColumn:
        """The column of an image field."""
        column = self.columns[name]
        if isinstance(column, ValueColumn):
            raise TypeError(f"the image field {name!r} comes as values, not as bytes")
        return column

    def lacking(self, name: str) -> list[int]:
        """Rows that lack a field where that is no fault: None is delivered in its place."""
        return self.bytes_of(name).absent.tolist() if self.context.policy.missing == "none" else []

    def record(self, stage: str, started_s: float, num_rows: int | None = None) -> None:
        """Records what was done since `started_s` as one piece of work of a stage, over all rows or some."""
        items = self.num_rows if num_rows is None else num_rows
        self.context.recorder.add(stage, perf_counter() - started_s, items=items)
