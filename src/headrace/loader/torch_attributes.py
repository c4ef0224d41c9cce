"""Attributes that code written for `torch.utils.data.DataLoader` reads from a loader."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from headrace.loader.options import LoaderOptions


class TorchAttributes:
    """What the caller asked for, under torch's names."""

    options: LoaderOptions

    @property
    def batch_size(self) -> int | None:
        """Rows of a batch of this rank; None where a batch sampler says."""
        return self.options.batch_size

    @property
    def pin_memory(self) -> bool:
        """Whether batches are page-locked."""
        return self.options.pin_memory

    @property
    def drop_last(self) -> bool:
        """Whether a global batch that is not full is left out."""
        return self.options.drop_last

    @property
    def collate_fn(self) -> Callable[[list[Any]], Any] | None:
        """The caller's collate function, if any."""
        return self.options.collate_fn

    @property
    def prefetch_factor(self) -> int | None:
        """Batches a worker in flight, where the caller named a number."""
        return self.options.prefetch_factor
