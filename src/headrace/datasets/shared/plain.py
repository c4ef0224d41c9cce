"""Plain data: values without a class of their own, whose copies are as good as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

ATOMS = frozenset({str, bytes, int, float, bool, complex, type(None)})


def is_plain(item: Any) -> bool:
    """Whether an item is made of text, bytes, numbers, None and arrays of numbers, in tuples, lists and dicts alone."""
    kind = type(item)
    if kind in ATOMS or issubclass(kind, np.generic):
        return True
    if kind is np.ndarray:
        return not item.dtype.hasobject
    if kind is dict:
        return all(map(is_plain, item)) and all(map(is_plain, item.values()))
    return kind in {tuple, list} and all(map(is_plain, item))


class NotPlainError(Exception):
    """An item that only its own class can make again, where plain data is wanted."""
