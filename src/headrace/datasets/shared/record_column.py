"""Tuples and lists of equal length, and dicts with the same keys: a column for each place."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, Literal, TypeAlias

from headrace.contracts import I64
from headrace.datasets.shared.column import Column, Encoder
from headrace.datasets.shared.packed import Packed

RecordType: TypeAlias = Literal["tuple", "list", "dict"]


class TupleColumn:
    """Reads tuples."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        # A tuple of one element shows its comma, as in Python.
        self.layout = f"({', '.join(column.layout for column in columns)}{',' if len(columns) == 1 else ''})"

    def item(self, row: int) -> Any:
        """One tuple."""
        return tuple([column.item(row) for column in self.columns])

    def items(self, rows: I64) -> list[Any]:
        """Many tuples."""
        return list(zip(*(column.items(rows) for column in self.columns), strict=True))


class ListColumn:
    """Reads lists of equal length; each is a fresh one."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self.columns = tuple(columns)
        self.layout = f"[{', '.join(column.layout for column in columns)}]"

    def item(self, row: int) -> Any:
        """One list."""
        return [column.item(row) for column in self.columns]

    def items(self, rows: I64) -> list[Any]:
        """Many lists."""
        return list(map(list, zip(*(column.items(rows) for column in self.columns), strict=True)))


class DictColumn:
    """Reads dicts with the same keys in the same order; each is a fresh one."""

    def __init__(self, columns: Sequence[Column], names: Sequence[str]) -> None:
        self.columns = tuple(columns)
        self.names = tuple(names)
        places = (f"{name}: {column.layout}" for name, column in zip(names, columns, strict=True))
        self.layout = f"{{{', '.join(places)}}}"

    def item(self, row: int) -> Any:
        """One dict."""
        return {name: column.item(row) for name, column in zip(self.names, self.columns, strict=True)}

    def items(self, rows: I64) -> list[Any]:
        """Many dicts."""
        records = zip(*(column.items(rows) for column in self.columns), strict=True)
        return [dict(zip(self.names, record, strict=True)) for record in records]


class RecordEncoder:
    """Takes records apart.

    Args:
        build: What the records are.
        keys: Places (tuple, list) or keys (dict) of the columns.
        columns: An encoder for each.
    """

    def __init__(self, build: RecordType, keys: Sequence[int | str], columns: Sequence[Encoder]) -> None:
        self.build = build
        self.parts = list(zip(map(itemgetter, keys), columns, strict=True))
        self.names = list(keys) if build == "dict" else None

    def add(self, items: Sequence[Any], first: int) -> None:
        """Packs further records."""
        for part, column in self.parts:
            column.add(list(map(part, items)), first)

    def finish(self) -> Packed:
        """The arrays of all columns, one column after another."""
        columns = [column.finish() for _, column in self.parts]
        schema = {
            "kind": "record",
            "build": self.build,
            "names": self.names,
            "columns": [column.schema for column in columns],
        }
        arrays = [array for column in columns for array in column.arrays]
        return Packed(schema=schema, arrays=arrays, num_rows=columns[0].num_rows)
