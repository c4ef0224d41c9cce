"""How much memory Python objects take, estimated from a sample of them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from itertools import islice
from typing import Any

import numpy as np

NUM_WEIGHED = 256
SMALL_INTEGERS = range(-5, 257)
"""Python has one object for each of these, however often it is used."""


def weigh(container: Collection[Any]) -> int:
    """Bytes of a list or dict with all that it holds, from up to 256 of its items spread evenly over it."""
    num = len(container)
    whole = sys.getsizeof(container)
    if not num:
        return whole
    stride = -(-num // NUM_WEIGHED)
    items: Iterable[Any] = container.items() if isinstance(container, Mapping) else container
    sample = list(islice(items, 0, None, stride))
    # A pair of key and value is made for the occasion: only what is in it counts.
    weights = (weigh_items(item) if isinstance(container, Mapping) else weigh_item(item) for item in sample)
    return whole + sum(weights) * num // len(sample)


def weigh_item(item: Any) -> int:
    """Bytes of one item with all that it holds; keys of dicts are taken to be the same objects in all items."""
    if item is None or isinstance(item, bool) or (isinstance(item, int) and item in SMALL_INTEGERS):
        return 0
    size = sys.getsizeof(item)
    if isinstance(item, np.ndarray):
        return size if item.base is None else size + item.nbytes
    if isinstance(item, Mapping):
        return size + weigh_items(item.values())
    return size + weigh_items(item) if isinstance(item, (tuple, list)) else size


def weigh_items(items: Iterable[Any]) -> int:
    """Bytes of all items."""
    return sum(map(weigh_item, items))
