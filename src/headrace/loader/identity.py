"""What makes a dataset the one that a state was saved with."""

from __future__ import annotations

from functools import cached_property
from typing import Any

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
        """32 hexadecimal digits. Of a dataset that only Python knows, its type and its length are all there is."""
        if self.source is not None:
            return fingerprint(self.source.identity())
        return fingerprint({"kind": "python", "type": type(self.dataset).__qualname__, "num": self.num_samples})
