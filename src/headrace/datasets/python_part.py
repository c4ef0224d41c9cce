"""The part of a transform that Python runs, sample by sample, portion by portion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np

from headrace.contracts import I64
from headrace.datasets.batch_run import BatchRun
from headrace.datasets.image_leaf import ImageLeaf

Make: TypeAlias = Callable[[int, Sequence[Any]], Any]
"""Makes what the Python part is called with from a row and the row's images."""

Settle: TypeAlias = Callable[[list[Any], I64], list[Any]]
"""Takes what the Python part made of some rows and runs what is fused after it."""


def run_python(
    batch: BatchRun,
    images: Sequence[ImageLeaf],
    make: Make,
    call: Callable[[Any, int], Any],
    field: str,
    settle: Settle | None = None,
) -> list[Any]:
    """What the Python part makes of each good row; None in the place of the others.

    Whole images are decoded and used up portion by portion, so that a batch of large ones never lies in memory at
    once; where there are several portions, `settle` runs what is fused after the Python part on each.

    Args:
        batch: The batch.
        images: The image leaves that are decoded for it; the first one says how large a portion is.
        make: What `call` gets.
        call: The Python part: of what `make` made, and the key of the row.
        field: Under which field a fault of the Python part is noted.
        settle: See above.
    """
    values: list[Any] = [None] * batch.num_rows
    portions = images[0].portions(batch) if images else [np.arange(batch.num_rows)]
    for rows in portions:
        columns = [leaf.start(batch, rows) for leaf in images]
        started_s = perf_counter()
        for at, row in enumerate(rows.tolist()):
            if row in batch.faults:
                continue
            try:
                values[row] = call(make(row, [column[at] for column in columns]), int(batch.context.keys[row]))
            except Exception as error:  # noqa: BLE001 - whatever the user's transform raises belongs to this sample
                batch.faults.add_transform(row, error, field)
        batch.record("transform", started_s, len(rows))
        if settle is not None and len(portions) > 1:
            values[rows[0] : rows[-1] + 1] = settle([values[row] for row in rows], rows)
    return values
