"""Plain data: values without a class of their own, whose copies are as good as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

ATOMS = frozenset({str, bytes, int, float, bool, complex, type(None)})


DEEPEST = 32
"""What is nested deeper, or in a circle, does not count as plain."""


def is_plain(item: Any, depth: int = 0) -> bool:
    """Whether an item is made of text, bytes, numbers, None and arrays of numbers, in tuples, lists and dicts alone."""
    kind = type(item)
    if kind in ATOMS or issubclass(kind, np.generic):
        return True
    if kind is np.ndarray:
        return not item.dtype.hasobject
    if kind not in {tuple, list, dict} or depth == DEEPEST:
        return False
    if kind is dict and not all(is_plain(part, depth + 1) for part in item.values()):
        return False
    return all(is_plain(part, depth + 1) for part in item)


class NotPlainError(Exception):
    """An item that only its own class can make again, where plain data is wanted."""
