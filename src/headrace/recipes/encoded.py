"""The encoded images of a column as the kernel gets them: addresses in memory, or ranges of files in the page cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from headrace import _native
from headrace.contracts import U64, ByteColumn, InMemory

T = TypeVar("T")


def run_on(
    column: ByteColumn,
    call: Callable[[U64 | _native.CachedRanges], T],
    reports: Callable[[T], Sequence[_native.BatchReport]],
) -> T:
    """Calls the kernel with the images of a column where they lie.

    Where too many of them are not in the page cache any more, they are read into memory, and it is called again.

    Args:
        column: The images, all of them present.
        call: Gets what stands for the addresses; may be called twice.
        reports: What the kernel says of the rows, in the result of `call`.

    Raises:
        ShardError: A file that is read is not what its index says.
        StorageError: It cannot be read.
    """
    place = column.place
    if isinstance(place, InMemory):
        return call(place.addresses)
    ranges = place.ranges
    result = call(ranges)
    place.waited(ranges.waited_s)
    if not any(report.status[row] == _native.UNREAD for report in reports(result) for row in report.failed):
        return result
    return call(place.read().addresses)
