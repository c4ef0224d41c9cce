"""What a dataset that can only be iterated over offers."""

from __future__ import annotations

import inspect
from typing import Any

from torch.utils.data import IterableDataset


def is_stream(dataset: Any, *, sampled: bool = False) -> bool:
    """Whether a dataset can only be iterated over.

    Args:
        dataset: Of the user.
        sampled: Whether a sampler says what there is, so that `__getitem__` does without a `__len__`.
    """
    if isinstance(dataset, IterableDataset):  # has a __getitem__ too, which raises
        return True
    kind = type(dataset)
    can_be_asked = hasattr(kind, "__getitem__") and (sampled or hasattr(kind, "__len__"))
    return hasattr(kind, "__iter__") and not can_be_asked


def can_be_split(dataset: Any) -> bool:
    """Whether a dataset follows `SplittableStream`: others have a method `shard` too, of other arguments."""
    shard = getattr(dataset, "shard", None)
    if not callable(shard):
        return False
    try:
        inspect.signature(shard).bind(index=0, count=1)
    except (TypeError, ValueError):
        return False
    return True


def can_be_resumed(stream: Any) -> bool:
    """Whether a dataset, a part of one or an iterator follows `ResumableStream`."""
    return all(callable(getattr(stream, name, None)) for name in ("state_dict", "load_state_dict"))


def length_of(stream: Any) -> int | None:
    """How many samples a dataset, or a part of one, gives; None where it does not say.

    Some have a `__len__` that only tells so: torch's `ChainDataset` checks its parts with an assertion.
    """
    try:
        return len(stream)
    except (TypeError, NotImplementedError, AssertionError):
        return None
