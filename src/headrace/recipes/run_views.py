"""Several views of one image field, in one native call that decodes an image once where that costs less."""

from __future__ import annotations

from collections.abc import Sequence

from headrace import _native
from headrace.contracts import U64, Allocate, ByteColumn
from headrace.recipes.encoded import run_on
from headrace.recipes.full_decode import absent
from headrace.recipes.program import ImageProgram
from headrace.recipes.row_draws import RowDraws
from headrace.recipes.rows import Rows
from headrace.recipes.span_runner import rows_of


def run_views(
    programs: Sequence[ImageProgram], column: ByteColumn, keys: Sequence[U64], allocate: Allocate
) -> list[Rows] | None:
    """All views of a batch, each as `ImageProgram.run` makes it.

    Args:
        programs: One a view, on one pool, with the same options of decoding.
        column: The encoded images.
        keys: Keys of each view, shape (rows,).
        allocate: Where memory comes from.

    Returns:
        One batch a view; None where Python has a part in a view, sizes may differ, crops depend on boxes, or JPEGs are
        decoded smaller.
    """
    runners = [program.prefix.runner for program in programs]
    sizes = [runner.span.geometry.fixed_size for runner in runners]
    if any(runner.span.geometry.needs_boxes for runner in runners):
        return None
    if not all(program.recipe.is_fused and not program.recipe.dct_scaling for program in programs):
        return None
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return None
    channels_last, num_rows = programs[0].channels_last, len(column.sizes)
    rows = column.present if len(column.absent) else None
    there = column if rows is None else column.take(rows)
    keys_there = [one if rows is None else one[rows] for one in keys]
    targets = [
        runner.target(allocate, num_rows, size, channels_last=channels_last)
        for runner, size in zip(runners, known, strict=True)
    ]

    def call(encoded: U64 | _native.CachedRanges) -> list[_native.BatchReport]:
        return _native.run_views(
            runners[0].pool,
            encoded,
            there.sizes,
            [runner.for_jpegs for runner in runners],
            keys_there,
            [target.raw for target in targets],
            [runner.lut for runner in runners],
            rows,
            channels_last=channels_last,
        )

    reports = run_on(there, call, lambda reports: reports)
    made = []
    for runner, report, own_keys, target in zip(runners, reports, keys_there, targets, strict=True):
        outcome = runner.finished(report, there, RowDraws(own_keys), target, rows)
        outcome.errors.update({row: absent() for row in column.absent.tolist()})
        made.append(rows_of(target, outcome))
    return made
