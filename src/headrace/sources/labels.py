"""The label column of a list as class numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from headrace.contracts import I64
from headrace.errors import SourceError

SMALLEST, LARGEST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
MOST_DIGITS = 4000
"""Python turns no text of more than 4300 digits into a number."""


class LabelNumbers:
    """Numbers the labels of a list that comes in pieces.

    Integers (also as text) are kept. Names are numbered in sorted order, as ImageFolder numbers its folders.

    Args:
        column: Name of the column.
        path: The list, for errors.
        remedy: What to do with a column that holds no labels.
    """

    def __init__(self, column: str, path: str | None, remedy: str) -> None:
        self.column = column
        self.path = path
        self.remedy = remedy
        self.code_of: dict[int | str, int] = {}
        self.pieces: list[I64] = []

    def add(self, values: Sequence[Any], lines: Sequence[int]) -> None:
        """Takes the labels of further rows.

        Raises:
            SourceError: A row without a label, or a label that is neither, naming the line.
        """
        if any(issubclass(kind, np.generic) for kind in set(map(type, values))):
            values = [value.item() if isinstance(value, np.generic) else value for value in values]
        if not set(map(type, values)) <= {int, str} or "" in values:
            raise self.not_a_label(values, lines)
        code_of = self.code_of
        for value in dict.fromkeys(values):
            if isinstance(value, int) and not fits(value):
                raise self.not_a_label(values, lines)
            code_of.setdefault(value, len(code_of))
        self.pieces.append(np.fromiter(map(code_of.__getitem__, values), dtype=np.int64, count=len(values)))

    def not_a_label(self, values: Sequence[Any], lines: Sequence[int]) -> SourceError:
        """The error of the first row that has no label."""
        row = next(row for row, value in enumerate(values) if not is_label(value))
        return SourceError(
            "not a label",
            got=repr(values[row]),
            accepted="an integer of at most 64 bits, or a class name",
            path=self.path,
            line=lines[row],
            column=self.column,
            remedy=self.remedy,
        )

    def finish(self) -> tuple[I64, tuple[str, ...] | None]:
        """Class numbers, shape (rows,), and the class names where the column holds names.

        Raises:
            SourceError: Numbers in some rows and names in others.
        """
        labels = list(self.code_of)
        numbers = [to_int(value) for value in labels]
        names: tuple[str, ...] | None = None
        if any(number is None for number in numbers):
            if any(isinstance(value, int) for value in labels):
                raise SourceError(
                    "labels that are numbers in some rows and names in others",
                    path=self.path, column=self.column, remedy=self.remedy,
                )  # fmt: skip
            names = tuple(sorted(map(str, labels)))
            position = {name: number for number, name in enumerate(names)}
            numbers = [position[str(value)] for value in labels]
        codes = np.concatenate(self.pieces) if self.pieces else np.empty(0, dtype=np.int64)
        return np.array(numbers, dtype=np.int64)[codes], names


def is_label(value: Any) -> bool:
    """Whether a value is a class name or a number that can be kept."""
    return fits(value) if type(value) is int else type(value) is str and value != ""


def fits(number: int) -> bool:
    """Whether a number can be a label of int64."""
    return SMALLEST <= number <= LARGEST


def to_int(value: int | str) -> int | None:
    """A label as an integer, or None where it is a name; digits of more than 64 bits are a name."""
    if isinstance(value, int):
        return value
    if len(value) > MOST_DIGITS or not (value.removeprefix("-").isdecimal() and value.isascii()):
        return None
    number = int(value)
    return number if fits(number) else None
