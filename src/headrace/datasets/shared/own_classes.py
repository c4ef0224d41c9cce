"""Items of classes that another process may not be able to import: those of a script, a notebook, or a function.

Pickle refers to a class by its name, and a worker that never runs the trainer's script does not have it. Such classes
are kept once for a whole column, by value (cloudpickle); the pickles of the items refer to them by number.
"""

from __future__ import annotations

import io
import pickle
import sys
from collections.abc import Sequence
from operator import attrgetter
from typing import Any

import cloudpickle

PROTOCOL = 5
SCRIPT = "__main__"


def is_own(value: Any) -> bool:
    """Whether a value is a class that cannot be found by its name elsewhere."""
    return isinstance(value, type) and (value.__module__ == SCRIPT or "<locals>" in value.__qualname__)


class OwnClasses:
    """The classes that the items of a column have met so far."""

    def __init__(self) -> None:
        self.numbers: dict[type, int] = {}

    def dumps(self, item: Any) -> bytes:
        """An item as a pickle that refers to its classes by number. Raises what pickling raises."""
        out = io.BytesIO()
        pickler = ByNumber(out, protocol=PROTOCOL)
        pickler.numbers = self.numbers
        pickler.dump(item)
        return out.getvalue()

    def table(self) -> bytes:
        """The classes in the order of their numbers, for `OwnTable`."""
        named = [(kind.__module__, kind.__qualname__, cloudpickle.dumps(kind)) for kind in self.numbers]
        return pickle.dumps(named, protocol=PROTOCOL)


class ByNumber(pickle.Pickler):
    """Puts numbers in the place of classes."""

    numbers: dict[type, int]

    def persistent_id(self, value: Any) -> int | None:
        """The number of a class, None for everything that is pickled as always."""
        return self.numbers.setdefault(value, len(self.numbers)) if is_own(value) else None


class OwnTable:
    """Reads items whose pickles refer to classes by number.

    Args:
        table: As `OwnClasses.table` made it; opened with the first item.
    """

    def __init__(self, table: bytes) -> None:
        self.table = table
        self.classes: Sequence[type] | None = None

    def loads(self, view: memoryview) -> Any:
        """An item."""
        if self.classes is None:
            self.classes = [find_class(*entry) for entry in pickle.loads(self.table)]  # noqa: S301 - see block.py
        unpickler = WithNumbers(io.BytesIO(view))
        unpickler.classes = self.classes
        return unpickler.load()


class WithNumbers(pickle.Unpickler):
    """Puts classes in the place of numbers."""

    classes: Sequence[type]

    def persistent_load(self, number: int) -> type:
        """The class of a number."""
        return self.classes[number]


def find_class(module: str, name: str, by_value: bytes) -> type:
    """A class: that of the running script where it has one of this name, so that `isinstance` holds; else by value."""
    if module == SCRIPT and "<locals>" not in name:
        try:
            found = attrgetter(name)(sys.modules[SCRIPT])
        except AttributeError:
            found = None
        if isinstance(found, type):
            return found
    return pickle.loads(by_value)  # type: ignore[no-any-return]  # noqa: S301 - see block.py
