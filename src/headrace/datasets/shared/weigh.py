"""How much memory Python objects take, estimated from a sample of them."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from itertools import islice
from typing import Any

import numpy as np

NUM_WEIGHED = 256
NUM_WEIGHED_INSIDE = 16
"""Items of a list inside of an item that are looked at."""
DEEPEST = 6
"""What is nested deeper, or in a circle, is not looked at."""
SMALL_INTEGERS = range(-5, 257)
"""Python has one object for each of these, however often it is used."""


def weigh(container: Collection[Any]) -> int:
    """Bytes of a list or dict with all that it holds, from up to 256 of its items spread evenly over it."""
    return sys.getsizeof(container) + weigh_content(container, NUM_WEIGHED, 1, shared_keys=False)


def weigh_content(content: Collection[Any], num_weighed: int, depth: int, *, shared_keys: bool) -> int:
    """Bytes of what a container holds.

    Args:
        content: The container.
        num_weighed: How many of its items are looked at.
        depth: How deep its items lie.
        shared_keys: Whether keys of a dict are left out, as those that many dicts have in common.
    """
    if not content:
        return 0
    stride = -(-len(content) // num_weighed)
    sample = list(islice(content.values() if isinstance(content, Mapping) else content, 0, None, stride))
    whole = sum(weigh_item(item, depth) for item in sample)
    if isinstance(content, Mapping) and not shared_keys:
        whole += sum(weigh_item(key, depth) for key in islice(content, 0, None, stride))
    return whole * len(content) // len(sample)


def weigh_item(item: Any, depth: int) -> int:
    """Bytes of one item with all that it holds."""
    if item is None or isinstance(item, bool) or (isinstance(item, int) and item in SMALL_INTEGERS):
        return 0
    size = sys.getsizeof(item)
    if isinstance(item, np.ndarray):
        return size if item.base is None else size + item.nbytes
    if isinstance(item, (tuple, list, dict)) and depth < DEEPEST:
        return size + weigh_content(item, NUM_WEIGHED_INSIDE, depth + 1, shared_keys=True)
    return size
