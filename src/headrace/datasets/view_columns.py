"""A leaf of which there are several views."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class ViewColumns:
    """A leaf that each view has anew: one column a view, of which a row is a tuple."""

    def __init__(self, columns: Sequence[Any]) -> None:
        self.columns = columns

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, row: Any) -> Any:
        """The views of a row, or of each row of a slice."""
        if isinstance(row, slice):
            return [self[place] for place in range(*row.indices(len(self)))]
        return tuple(column[row] for column in self.columns)

    def __setitem__(self, row: int, views: Sequence[Any]) -> None:
        """Puts the views of a row."""
        for column, view in zip(self.columns, views, strict=True):
            column[row] = view
