"""The part of a transform that Python runs, sample by sample, portion by portion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from headrace.contracts import I32, I64
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.image_leaf import ImageLeaf
from headrace.recipes.span_runner import NUM_PARAMS

Prepare: TypeAlias = Callable[[I64, Sequence[list[Any]], Sequence[I32]], Callable[[int], Any]]
"""Gets some rows of the batch, for each image leaf the images of these rows, and the geometry of all rows; gives back
what makes of the place among these rows what the Python part is called with."""

Note: TypeAlias = Callable[[int, Exception, Any], None]
"""Notes what the Python part raised: the row, the error, what it was called with (None: that could not be made)."""

Settle: TypeAlias = Callable[[list[Any], I64], list[Any]]
"""Takes what the Python part made of some rows and runs what is fused after it."""


def run_python(
    batch: BatchRun,
    images: Sequence[ImageLeaf],
    prepare: Prepare,
    call: Callable[[Any, int], Any],
    note: Note,
    settle: Settle,
) -> list[Any]:
    """What the Python part makes of each good row; None in the place of the others.

    Whole images are decoded and used up portion by portion, so that a batch of large ones never lies in memory at
    once; where there are several portions, `settle` runs what is fused after the Python part on each.

    Args:
        batch: The batch.
        images: The image leaves that are decoded for it; the first one says how large a portion is.
        prepare: What `call` gets.
        call: The Python part: of what was prepared, and the key of the row.
        note: Where its errors go.
        settle: See above.
    """
    values: list[Any] = [None] * batch.num_rows
    portions = images[0].portions(batch) if images else [np.arange(batch.num_rows)]
    for rows in portions:
        params = [np.zeros((batch.num_rows, NUM_PARAMS), dtype=np.int32) for _ in images]
        columns = [leaf.start(batch, rows, found) for leaf, found in zip(images, params, strict=True)]
        started_s = perf_counter()
        make = prepare(rows, columns, params)
        for at, row in enumerate(rows.tolist()):
            if row not in batch.faults:
                values[row] = attempt(make, at, call, int(batch.context.keys[row]), row, note)
        batch.record("transform", started_s, len(rows))
        if len(portions) > 1:
            values[rows[0] : rows[-1] + 1] = settle([values[row] for row in rows], rows)
    return values


def attempt(
    make: Callable[[int], Any], at: int, call: Callable[[Any, int], Any], key: int, row: int, note: Note
) -> Any:
    """What the Python part makes of one row; None where it raises, which is noted."""
    sample: Any = None
    try:
        sample = make(at)
        return call(sample, key)
    except Exception as error:  # noqa: BLE001 - whatever the user's transform raises belongs to this sample
        note(row, error, sample)
        return None
