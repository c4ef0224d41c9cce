"""Makes a table of files from the pieces of a source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from headrace.contracts import I64
from headrace.datasets.files.columns import ColumnFacts, TableFacts
from headrace.datasets.files.encoders import SuffixEncoder, ValueEncoder
from headrace.datasets.shared.packed import Packed, Pieces
from headrace.datasets.shared.ragged_column import RaggedEncoder


class TableBuilder:
    """Collects rows piece by piece; between two pieces all columns are padded to the same number of rows.

    Paths are kept as a stem, which the files of a sample may share, and the number of a suffix: ten million paths are
    two arrays.
    """

    def __init__(self) -> None:
        self.num_rows = 0
        self.stems: dict[str, RaggedEncoder] = {}
        self.files: dict[str, tuple[str, SuffixEncoder]] = {}
        self.values: dict[str, ValueEncoder] = {}
        self.labels: tuple[str, I64] | None = None

    def add_stems(self, name: str, stems: Sequence[str]) -> None:
        """What the paths of further rows begin with; those of one name come for every row."""
        self.stems.setdefault(name, RaggedEncoder("bytes")).add([os.fsencode(stem) for stem in stems], self.num_rows)

    def add_files(self, name: str, stems: str, suffixes: Iterable[str | None]) -> None:
        """What the paths of further rows end with; None where a row has no file."""
        encoder = self.files.setdefault(name, (stems, SuffixEncoder()))[1]
        encoder.pad(self.num_rows)
        encoder.add(suffixes)

    def add_values(self, name: str, values: Sequence[Any]) -> None:
        """Values of further rows; None where a row has none."""
        encoder = self.values.setdefault(name, ValueEncoder())
        encoder.pad(self.num_rows)
        encoder.add(values)

    def end_piece(self, num_rows: int) -> None:
        """So many rows have come since the last piece."""
        self.num_rows += num_rows
        for _, suffixes in self.files.values():
            suffixes.pad(self.num_rows)
        for values in self.values.values():
            values.pad(self.num_rows)

    def set_labels(self, name: str, labels: I64) -> None:
        """Class numbers of all rows, shape (rows,)."""
        self.labels = (name, labels)

    def finish(self, order: Sequence[str], **facts: Any) -> Packed:
        """The table as columns side by side, with what they mean.

        Args:
            order: The columns, in the order in which a sample has them; others follow.
            facts: What else `TableFacts` holds.
        """
        parts = {f"stems {name}": encoder.finish() for name, encoder in self.stems.items()}
        columns = {}
        for name, (stems, suffixes) in self.files.items():
            parts[f"suffixes {name}"] = suffixes.finish()
            columns[name] = ColumnFacts(name=name, role="files", stems=stems, suffixes=tuple(suffixes.id_of))
        for name, values in self.values.items():
            parts[f"values {name}"], parts[f"absent {name}"] = values.finish(), values.finish_absent()
            columns[name] = ColumnFacts(name=name, role="values")
        if self.labels is not None:
            name, labels = self.labels
            parts[f"values {name}"] = number_column(labels)
            columns[name] = ColumnFacts(name=name, role="values")
            facts["label"] = name
        ordered = [columns[name] for name in dict.fromkeys([*order, *columns]) if name in columns]
        left_out = tuple(name for name in order if name not in columns)
        table = TableFacts(columns=tuple(ordered), left_out=left_out, **facts)
        return side_by_side(parts, self.num_rows, table)


def number_column(values: I64) -> Packed:
    """Integers in the smallest type that holds them."""
    kinds = (np.int8, np.int16, np.int32, np.int64)
    low, high = int(values.min(initial=0)), int(values.max(initial=0))
    dtype = next(kind for kind in kinds if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max)
    return Packed(schema={"kind": "numbers"}, arrays=[Pieces.of(values.astype(dtype))], num_rows=len(values))


def side_by_side(parts: dict[str, Packed], num_rows: int, facts: TableFacts) -> Packed:
    """One block of several columns."""
    schema = {
        "kind": "record",
        "build": "dict",
        "names": list(parts),
        "columns": [part.schema for part in parts.values()],
        "facts": facts.to_json(),
    }
    return Packed(schema=schema, arrays=[array for part in parts.values() for array in part.arrays], num_rows=num_rows)
