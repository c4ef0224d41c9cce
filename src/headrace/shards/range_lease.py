"""Where the fields of a batch lie, in files that stay open as long as somebody reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from headrace._base.open_files import OPEN_FILES
from headrace.contracts import I32, I64, U64
from headrace.errors import HeadraceError


@dataclass(slots=True, kw_only=True)
class RangeLease:
    """Ranges of open files. The descriptors stay valid until the `with` block ends, or as long as a kept lease is."""

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
    kept_by: object = None
    """Whose account a kept lease is on; None for one that is not kept."""

    def keep(self) -> bool:
        """Keeps the shards open beyond the `with` block, until nothing refers to the lease; tells whether it may be.

        Others who read must never have to wait for batches that nobody takes, so that at most half of the files that
        may be open are kept.
        """
        self.kept_by = OPEN_FILES.turn if OPEN_FILES.may_be_kept() else None
        return self.kept_by is not None

    def __del__(self) -> None:
        # A forked child has none of its parent's accounts.
        if self.kept_by is not None and self.kept_by is OPEN_FILES.turn:
            OPEN_FILES.give_back_soon(self.release)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.kept_by is None:
            self.release()
