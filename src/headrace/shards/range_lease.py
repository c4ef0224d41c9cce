"""Where the fields of a batch lie, in files that stay open as long as somebody reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from headrace.contracts import I32, I64, U64
from headrace.errors import HeadraceError


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeLease:
    """Ranges of open files. The descriptors stay valid until the `with` block ends."""

    fds: I32
    """Descriptor of each field's shard, shape (entries, rows); -1 where the sample lacks the field."""
    offsets: U64
    """First byte of each field in its shard, shape (entries, rows); 0 where absent."""
    sizes: U64
    """Bytes of each field, shape (entries, rows); 0 where absent."""
    choices: I32
    """Which name of its entry each sample has, shape (entries, rows); -1 where it has none."""
    absent: Sequence[I64]
    """For each entry the rows that lack it, shape (absent rows,)."""
    faults: Mapping[int, HeadraceError]
    """Rows whose sample cannot be had, with `on_error="skip"`; they lack every field."""
    release: Callable[[], None]

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()
