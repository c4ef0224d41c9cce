"""From arrays to a column."""

from __future__ import annotations

from typing import Any, cast

from headrace.contracts import I64
from headrace.datasets.shared.array_column import ArrayColumn
from headrace.datasets.shared.column import Column
from headrace.datasets.shared.keyed_column import KeyedColumn, KeyTable
from headrace.datasets.shared.number_column import NumberColumn
from headrace.datasets.shared.own_classes import OwnTable
from headrace.datasets.shared.packed import Arrays, Schema
from headrace.datasets.shared.ragged_column import RaggedColumn
from headrace.datasets.shared.record_column import DictColumn, ListColumn, TupleColumn


class EmptyColumn:
    """No items."""

    layout = "empty"

    def item(self, row: int) -> Any:
        """Never called: there is no row."""
        raise IndexError(row)

    def items(self, rows: I64) -> list[Any]:
        """The items of no rows."""
        return []


def read_column(schema: Schema, arrays: Arrays) -> Column:
    """The column that a schema describes.

    Args:
        schema: As the encoder wrote it.
        arrays: Its arrays; as many are taken as the column has.
    """
    kind = schema["kind"]
    if kind == "empty":
        return EmptyColumn()
    if kind == "numbers":
        return NumberColumn(arrays.take())
    if kind == "array":
        scalar = schema["scalar"]
        return ArrayColumn(arrays.take() if scalar else arrays.take_private(), scalar=scalar)
    if kind == "record":
        return _read_record(schema, arrays)
    if kind == "keyed":
        keys, table = read_column(schema["keys"], arrays), KeyTable(arrays.take(), arrays.take())
        return KeyedColumn(cast("RaggedColumn", keys), table, read_column(schema["values"], arrays))
    return _read_ragged(schema, arrays)


def _read_ragged(schema: Schema, arrays: Arrays) -> RaggedColumn:
    blob, offsets = arrays.take(), arrays.take()
    decode = OwnTable(arrays.take().tobytes()).loads if schema["own_classes"] else None
    return RaggedColumn(schema["kind"], blob, offsets, decode)


def _read_record(schema: Schema, arrays: Arrays) -> Column:
    columns = [read_column(inner, arrays) for inner in schema["columns"]]
    if schema["build"] == "dict":
        return DictColumn(columns, schema["names"])
    return TupleColumn(columns) if schema["build"] == "tuple" else ListColumn(columns)
