"""The label column of a list as class numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headrace.errors import SourceError
from headrace.pack.rows import Row

LABEL_REMEDY = "--label-column '' leaves the column to the json field."


def number_labels(rows: Sequence[Row], column: str, path: str) -> tuple[list[int], tuple[str, ...] | None]:
    """Class numbers of the rows, and the class names where the column holds names.

    Integers (also as text) are kept. Names are numbered in sorted order, as ImageFolder numbers its folders.

    Raises:
        SourceError: A row without a label, or a label that is neither, naming the line.
    """
    values = [row.values.get(column) for row in rows]
    for row, value in zip(rows, values, strict=True):
        if value is None or value == "" or isinstance(value, bool) or not isinstance(value, int | str):
            raise SourceError(
                "not a label", got=repr(value), accepted="an integer or a class name",
                path=path, line=row.line, column=column, remedy=LABEL_REMEDY,
            )  # fmt: skip
    numbers = [to_int(value) for value in values]
    if all(number is not None for number in numbers):
        return [number for number in numbers if number is not None], None
    names = sorted({str(value) for value in values})
    if any(isinstance(value, int) for value in values):
        raise SourceError(
            "labels that are numbers in some rows and names in others", path=path, column=column, remedy=LABEL_REMEDY
        )
    position = {name: number for number, name in enumerate(names)}
    return [position[str(value)] for value in values], tuple(names)


def to_int(value: Any) -> int | None:
    """A label as an integer, or None where it is a name."""
    if isinstance(value, int):
        return value
    text = str(value)
    return int(text) if text.removeprefix("-").isdecimal() and text.isascii() else None
