"""What makes a dataset the one that a state was saved with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from functools import cached_property
from typing import Any

import numpy as np
import xxhash
from torch.utils.data import ConcatDataset, Subset

from headrace.contracts import BatchSource
from headrace.order import fingerprint


class Identity:
    """The identity of a dataset, found out when it is first needed: a list of a million files takes a while to hash.

    Args:
        dataset: The dataset of the user.
        source: Its batch source, if it has one.
        num_samples: Its length.
    """

    def __init__(self, dataset: Any, source: BatchSource | None, num_samples: int) -> None:
        self.dataset = dataset
        self.source = source
        self.num_samples = num_samples

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits."""
        source = self.source
        return fingerprint(identity_of(self.dataset) if source is None else source.identity())


def identity_of(dataset: Any) -> Mapping[str, Any]:
    """The facts that name a dataset that only Python knows: its type and its length are all there is.

    Of a `Subset` (`random_split` makes them) the selection counts too, of a `ConcatDataset` the parts.
    """
    num = len(dataset) if isinstance(dataset, Sized) else None
    facts = {"kind": "python", "type": type(dataset).__qualname__, "num": num}
    if type(dataset) is Subset:
        return facts | {"of": identity_of(dataset.dataset), "selection": _selection(dataset.indices)}
    if type(dataset) is ConcatDataset:
        return facts | {"of": [identity_of(part) for part in dataset.datasets]}
    return facts


def _selection(indices: Sequence[Any]) -> str:
    """A hash of the indices of a subset; empty where they are no numbers."""
    try:
        numbers = np.asarray(indices, dtype="<i8")
    except (TypeError, ValueError, OverflowError):
        return ""
    return xxhash.xxh3_64(numbers.tobytes()).hexdigest()
