"""Rows that could not be made: raised with their place, or left out so that steps stay even."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from headrace.contracts import Bools
from headrace.datasets.context import BatchContext
from headrace.datasets.good_rows import source_of
from headrace.errors import (
    CollateError,
    HeadraceError,
    MissingFieldError,
    SampleError,
    ShardChangedError,
    ShardError,
    TransformError,
)


class RowFaults:
    """The faults of one batch: the first of each row counts."""

    def __init__(self, num_rows: int) -> None:
        self.num_rows = num_rows
        self.errors: dict[int, Exception] = {}
        self.fields: dict[int, str] = {}
        self.num_counted = 0
        """Faults that were counted as skipped: more may be found when a batch is put together."""

    def __contains__(self, row: int) -> bool:
        return row in self.errors

    def add(self, row: int, error: Exception, field: str) -> None:
        """Notes a fault; a row that has one already keeps it."""
        if row not in self.errors:
            self.errors[row] = error
            self.fields[row] = field

    def add_transform(self, row: int, error: Exception, field: str) -> None:
        """Notes what a function of the user raised."""
        if isinstance(error, SampleError):
            self.add(row, error, field)
            return
        named = TransformError(
            f"a transform raised {type(error).__name__}: {error}",
            stage="transform",
            remedy='on_error="skip" leaves such samples out',
        )
        named.__cause__ = error
        self.add(row, named, field)

    def bad_rows(self) -> Sequence[int]:
        """Rows with a fault, in order."""
        return sorted(self.errors)

    def good_rows(self) -> Sequence[int]:
        """Rows without a fault, in order."""
        return [row for row in range(self.num_rows) if row not in self.errors]

    @contextmanager
    def naming(self, context: BatchContext) -> Iterator[None]:
        """Adds shard and key to an error that knows the row of a batch where values differ."""
        try:
            yield
        except CollateError as error:
            self._name_row(error, context)
            raise

    def _name_row(self, error: CollateError, context: BatchContext) -> None:
        """Names the sample of the row; one with a fault repeats a good one, which is named."""
        row = error.where.get("row")
        if row in self.errors:
            row = source_of(row, self.good_rows())
        if row is not None:
            name = context.names()[row]
            error.at(shard=name.shard, key=name.key)

    def settle(self, context: BatchContext) -> Bools:
        """Raises the fault of the lowest row that no policy covers, or counts them and says which rows are good.

        Returns:
            True for each good row, shape (rows,).

        Raises:
            Exception: The fault, with shard, key and field.
        """
        if not self.errors:
            return all_good(self.num_rows)
        good = all_good(self.num_rows).copy()
        for row in self.bad_rows():
            if not _covered(self.errors[row], context):
                raise self._named(row, context)
            good[row] = False
        context.recorder.count("skipped_samples", len(self.errors) - self.num_counted)
        self.num_counted = len(self.errors)
        return good

    def _named(self, row: int, context: BatchContext) -> Exception:
        error = self.errors[row]
        try:
            name = context.names()[row]
        except ShardChangedError as changed:
            raise changed from error
        if isinstance(error, HeadraceError):
            if isinstance(error, SampleError) and error.remedy is None:
                error.remedy = 'Mend the sample; on_error="skip" leaves such samples out'
            return error.at(shard=name.shard, key=name.key, field=self.fields[row])
        return error


@functools.lru_cache(maxsize=16)
def all_good(num_rows: int) -> Bools:
    """True for each row, read-only: batches are of few sizes, and few have faults."""
    good = np.ones(num_rows, dtype=np.bool_)
    good.flags.writeable = False
    return good


def _covered(error: Exception, context: BatchContext) -> bool:
    """Whether `on_error` or `missing` says that a sample with this fault is left out."""
    if isinstance(error, MissingFieldError) and context.policy.missing == "skip":
        return True
    return context.policy.on_error == "skip" and isinstance(error, (SampleError, ShardError))
