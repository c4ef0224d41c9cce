"""Which kind of column a chunk of items calls for: a pure function."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

KindName: TypeAlias = Literal["text", "bytes", "numbers", "array", "record", "pickled"]

PLAIN_DTYPES = frozenset("biufcmMSU")
"""Kinds of dtypes that their short name describes wholly; others (objects, structures) are pickled."""

DEEPEST = 8
"""Records inside of records: beyond that, items are pickled."""


@dataclass(frozen=True, slots=True)
class Kind:
    """Items of equal kinds go into one column."""

    name: KindName
    detail: Hashable = None
    """numbers: the Python type. array: dtype and shape, of a scalar `()`. record: its type and width or keys."""


PICKLED = Kind("pickled")

SCALARS: dict[type, Kind] = {
    str: Kind("text"),
    bytes: Kind("bytes"),
    bool: Kind("numbers", bool),
    int: Kind("numbers", int),
    float: Kind("numbers", float),
}


def kind_of(items: Sequence[Any], depth: int = 0) -> Kind:
    """The kind of items that are all alike, `PICKLED` where they are not, or are of a type without a column.

    Types are compared exactly: a subclass has a behaviour of its own, which pickle preserves.

    Args:
        items: At least one.
        depth: How many records the items lie in.
    """
    types = set(map(type, items))
    if len(types) != 1:
        return PICKLED
    (only,) = types
    if only in SCALARS:
        return SCALARS[only]
    if only is np.ndarray or issubclass(only, np.generic):
        return _array_kind(items, scalar=only is not np.ndarray)
    if depth < DEEPEST and only in {tuple, list, dict}:
        return _record_kind(items, only)
    return PICKLED


def _array_kind(items: Sequence[Any], *, scalar: bool) -> Kind:
    layouts = {(item.dtype, None if scalar else item.shape) for item in items}
    if len(layouts) != 1:
        return PICKLED
    ((dtype, shape),) = layouts
    return Kind("array", (dtype.str, shape)) if dtype.kind in PLAIN_DTYPES else PICKLED


def _record_kind(items: Sequence[Any], only: type) -> Kind:
    if only is not dict:
        widths = set(map(len, items))
        width = next(iter(widths))
        return Kind("record", (only.__name__, width)) if len(widths) == 1 and width else PICKLED
    keys = set(map(tuple, items))
    names = next(iter(keys))
    if len(keys) != 1 or not names or any(type(name) is not str for name in names):
        return PICKLED
    return Kind("record", ("dict", names))
