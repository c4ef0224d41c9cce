"""The image leaf of a plan: from its column to what is delivered, in one call or around a Python part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter
from typing import Any

from headrace.contracts import I32, I64, Fault
from headrace.datasets.batch_run import BatchRun
from headrace.errors import CollateError, SampleError
from headrace.recipes import ImageProgram, Rows


class ImageLeaf:
    """One image leaf. Notes the faults of its rows in the batch; holds nothing of a batch itself."""

    def __init__(self, name: str, program: ImageProgram) -> None:
        self.name = name
        self.program = program

    def run(self, batch: BatchRun) -> Any:
        """The leaf, where Python has no part in it: one native call for the whole batch."""
        if self.name in batch.ready:
            return self._delivered(batch.ready[self.name], batch)
        context, started_s = batch.context, perf_counter()
        column = batch.bytes_of(self.name)
        with self._naming(), batch.faults.naming(context):
            rows = self.program.run(column, context.keys, context.allocate, ragged=context.policy.ragged(self.name))
        batch.record("decode", started_s)
        return self._delivered(rows, batch)

    def whole(self, batch: BatchRun) -> Rows | None:
        """The leaf in one native call, with the geometry of its rows; None where that cannot be."""
        context, started_s = batch.context, perf_counter()
        rows = batch.ready.get(self.name)
        if rows is None:
            cropping = batch.croppings.get(self.name)
            rows = self.program.run_whole(batch.bytes_of(self.name), context.keys, context.allocate, cropping)
            batch.record("decode", started_s)
        if rows is not None:
            self._note(rows.faults, batch)
        return rows

    def portions(self, batch: BatchRun) -> list[I64]:
        """Rows that are decoded together before Python: few enough that large images fit into memory."""
        return self.program.portions(batch.bytes_of(self.name))

    def start(self, batch: BatchRun, rows: I64, params: I32 | None = None) -> list[Any]:
        """Images of some rows as the Python part wants them; a fault, or None where it lacks, stands in its row.

        Args:
            batch: The batch.
            rows: Which rows of it.
            params: Gets the geometry of each row that the kernel does, shape (rows of the batch, 8).
        """
        context, started_s = batch.context, perf_counter()
        images = self.program.start(
            batch.bytes_of(self.name), context.keys, context.allocate, rows, params, batch.croppings.get(self.name)
        )
        batch.record("decode", started_s, len(rows))
        lacking = set(batch.lacking(self.name))
        images = [None if isinstance(image, Fault) and image.row in lacking else image for image in images]
        self._note([image for image in images if isinstance(image, Fault)], batch)
        return images

    def as_decoded(self, batch: BatchRun, row: int) -> Any:
        """The image of a row as Pillow decodes it, None where the sample lacks it.

        Raises:
            SampleError: It cannot be decoded.
        """
        column = batch.bytes_of(self.name)
        if row in batch.lacking(self.name):
            return None
        image = self.program.decoder.image(column, row)
        if isinstance(image, SampleError):
            raise image
        return image

    def settle(self, batch: BatchRun, images: list[Any], rows: I64) -> list[Any]:
        """Runs what is fused after the Python part for some rows, so that the large images can go."""
        settled = self.program.settle(images, rows, batch.context.keys, batch.context.allocate)
        self._note([value for value in settled if isinstance(value, Fault)], batch)
        return settled

    def finish(self, batch: BatchRun, images: list[Any]) -> Any:
        """Runs what is fused after the Python part, and puts the rows together."""
        for row in batch.faults.bad_rows():
            images[row] = Fault(row=row, error=batch.faults.errors[row])
        for row in batch.lacking(self.name):
            images[row] = Fault(row=row, error=LookupError(self.name))
        context, started_s = batch.context, perf_counter()
        with self._naming(), batch.faults.naming(context):
            rows = self.program.finish(images, context.keys, context.allocate, ragged=context.policy.ragged(self.name))
        batch.record("layout", started_s)
        return self._delivered(rows, batch)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Names the field of an image that does not fit to those of its batch."""
        try:
            yield
        except CollateError as error:
            error.at(field=self.name)
            raise

    def _delivered(self, rows: Rows, batch: BatchRun) -> Any:
        """The values; a list with None where rows lack the image and that is no fault."""
        lacking = batch.lacking(self.name)
        self._note([fault for fault in rows.faults if fault.row not in lacking], batch)
        if not lacking:
            return rows.values
        values = list(rows.values)
        for row in lacking:
            values[row] = None
        return values

    def _note(self, found: Sequence[Fault], batch: BatchRun) -> None:
        for fault in found:
            batch.faults.add(fault.row, fault.error, self.name)
