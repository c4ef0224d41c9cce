"""Labels become class numbers, by name where the field has classes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np
import torch

from headrace._base.brief import brief
from headrace.datasets.field import Classes
from headrace.errors import LabelError

MAX_SHOWN_CLASSES = 8
SMALLEST, LARGEST = -(2**63), 2**63 - 1
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,19}")


class Labels:
    """What labels of one field become. Holds nothing of a batch.

    Args:
        classes: Names in the order of their numbers; numbers by name or by other numbers; None: labels are numbers.
    """

    def __init__(self, classes: Classes) -> None:
        self.numbers: Mapping[Any, int] | None = None
        self.num_classes: int | None = None
        self.as_numbers = classes is None
        """Whether text made of digits always is that number: no class has a name that reads as another one."""
        if isinstance(classes, Mapping):
            self.numbers = classes
        elif isinstance(classes, tuple):
            self.numbers = {name: number for number, name in enumerate(classes)}
            self.num_classes = len(classes)
            self.as_numbers = all(
                int(name) == number for number, name in enumerate(classes) if WHOLE_NUMBER.fullmatch(name)
            )

    def of(self, value: Any) -> int | torch.Tensor:
        """The class number of a label; int64 of shape (N,) of a list of labels, (0,) of an empty one.

        Raises:
            LabelError: A name or number that no class has, or a value that is no label; its place in a list is named.
        """
        if isinstance(value, (np.ndarray, torch.Tensor)):
            value = value.tolist()
        if not isinstance(value, (list, tuple)):
            return self.number(value, "")
        numbers = [self.number(one, f"[{place}]") for place, one in enumerate(value)]
        return torch.tensor(numbers, dtype=torch.int64)

    def of_text(self, text: str) -> int:
        """The class number of a label that is written as text; white space around it does not count.

        What is the name of a class is that name, even where it is made of digits.

        Raises:
            LabelError: As of `of`.
        """
        name = text.strip()
        is_name = self.numbers is not None and name in self.numbers
        return self.number(name if is_name or not WHOLE_NUMBER.fullmatch(name) else int(name), "")

    def number(self, value: Any, place: str) -> int:
        """The number of one label."""
        if isinstance(value, bool) or not isinstance(value, (int, str)):
            raise self._error("a label is neither a name nor a whole number", value, place)
        if self.numbers is not None and (self.num_classes is None or isinstance(value, str)):
            if value not in self.numbers:
                raise self._error("a label that no class has", value, place)
            return self.numbers[value]
        if isinstance(value, str):
            raise self._error("a label is a name, and the field has no classes", value, place)
        if not self._fits(value):
            raise self._error("a label that no class has", value, place)
        return value

    def all_fit(self, numbers: Any) -> bool:
        """Whether all numbers of an array are labels as they are."""
        if self.num_classes is None or not len(numbers):
            return self.numbers is None
        return bool(numbers.min() >= 0 and numbers.max() < self.num_classes)

    def _fits(self, value: int) -> bool:
        return SMALLEST <= value <= LARGEST if self.num_classes is None else 0 <= value < self.num_classes

    def _error(self, what: str, value: Any, place: str) -> LabelError:
        return LabelError(what, got=brief(value) + (f" at {place}" if place else ""), accepted=self._accepted())

    def _accepted(self) -> str:
        if self.numbers is None:
            return "whole numbers; for names give the field classes="
        shown = listed(self.numbers)
        if self.num_classes is None:
            return shown
        return f"0 to {self.num_classes - 1}, or a name: {shown}"


def listed(names: Iterable[Any]) -> str:
    """The first few names."""
    shown = list(islice(names, MAX_SHOWN_CLASSES + 1))
    return ", ".join(map(str, shown[:MAX_SHOWN_CLASSES])) + (", ..." if len(shown) > MAX_SHOWN_CLASSES else "")
