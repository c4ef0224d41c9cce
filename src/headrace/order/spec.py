"""What an order is made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import get_args

import numpy as np

from headrace._base.units import count
from headrace.contracts import Layout, Shuffle, Tail
from headrace.errors import OrderError
from headrace.order.permutation import LARGEST_SIZE
from headrace.order.windows import Windows, default_window_samples

NUM_SEEDS = 1 << 64


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class OrderSpec:
    """All that decides which sample comes when, except the epoch.

    Raises:
        OrderError: A value that no order can be made of.
    """

    layout: Layout
    """How the samples lie in shards."""
    seed: int = 0
    """0 to 2^64 - 1."""
    batch_size: int
    """Rows of one batch on one rank."""
    world_size: int = 1
    """Data-parallel ranks."""
    accumulate: int = 1
    """Batches on each rank that make one global step."""
    canonical_nodes: int = 1
    """Sequences that are read side by side in window mode; divides the global batch. 1 in the other modes."""
    shuffle: Shuffle = "none"
    window_samples: int | None = None
    """Least number of samples in a window; None for the default rule."""
    tail: Tail = "pad"

    def __post_init__(self) -> None:
        _check_layout(self.layout)
        if not 0 <= self.seed < NUM_SEEDS:
            raise OrderError("The seed is out of range", got=self.seed, accepted="0 to 2^64 - 1")
        for name in ("batch_size", "world_size", "accumulate", "canonical_nodes"):
            _check_positive(name, getattr(self, name))
        _check_choice("shuffle", self.shuffle, get_args(Shuffle))
        _check_choice("tail", self.tail, get_args(Tail))
        if self.window_samples is not None:
            _check_positive("window_samples", self.window_samples)
        self._check_nodes()

    def _check_nodes(self) -> None:
        if self.shuffle != "window" and (self.canonical_nodes != 1 or self.window_samples is not None):
            raise OrderError(
                "canonical_nodes and window_samples have a meaning in window mode only",
                got=f"canonical_nodes={self.canonical_nodes}, window_samples={self.window_samples}, "
                f"shuffle={self.shuffle!r}",
                accepted="canonical_nodes=1 and window_samples=None in the modes 'none' and 'full'",
                remedy="Leave them out, or shuffle in windows",
            )
        if self.global_batch % self.canonical_nodes:
            raise OrderError(
                "The canonical nodes do not divide the global batch",
                got=f"canonical_nodes={self.canonical_nodes}, global batch {self.global_batch}",
                accepted="a number of canonical nodes that divides batch_size x ranks x accumulate",
                remedy="Set canonical_nodes to such a number, or change batch_size",
            )

    @property
    def num_samples(self) -> int:
        """Samples in the dataset."""
        return int(self.layout.samples.sum())

    @property
    def global_batch(self) -> int:
        """Rows of one global step: over all ranks and accumulated batches."""
        return self.batch_size * self.world_size * self.accumulate

    @property
    def rank_rows(self) -> int:
        """Rows of one global step on one rank."""
        return self.batch_size * self.accumulate

    @property
    def cuts_padding(self) -> bool:
        """Whether the last batch is short instead of padded: a single rank that keeps the tail."""
        return self.tail == "keep" and self.world_size == 1

    @property
    def least_window_samples(self) -> int:
        """Samples that a window holds at least (the share of a node, if that is smaller)."""
        return self.window_samples or default_window_samples(self.layout)

    @property
    def largest_window_samples(self) -> int:
        """Samples of the largest window; 0 outside of window mode."""
        if self.shuffle != "window":
            return 0
        share = -(-self.num_samples // self.canonical_nodes)
        return Windows(length=share, at_least=self.least_window_samples).largest

    @property
    def window_size_bytes(self) -> int:
        """Bytes of the largest window, by the mean size of a sample; 0 outside of window mode."""
        return int(self.layout.sizes.sum()) * self.largest_window_samples // max(1, self.num_samples)


def default_canonical_nodes(num_nodes: int, global_batch: int) -> int:
    """The number of canonical nodes at the first start.

    It is the number of nodes there are, or the next smaller one that divides the global batch.
    """
    return next(nodes for nodes in range(min(num_nodes, global_batch), 0, -1) if global_batch % nodes == 0)


def _check_layout(layout: Layout) -> None:
    samples, sizes = np.asarray(layout.samples), np.asarray(layout.sizes)
    if samples.ndim != 1 or samples.shape != sizes.shape or samples.dtype.kind != "i" or sizes.dtype.kind != "i":
        raise OrderError(
            "A layout needs one number of samples and one size a shard",
            got=f"samples {samples.dtype}{samples.shape}, sizes {sizes.dtype}{sizes.shape}",
            accepted="two integer arrays of shape (shards,)",
        )
    if samples.size and min(samples.min(), sizes.min()) < 0:
        shard = int(np.flatnonzero((samples < 0) | (sizes < 0))[0])
        raise OrderError("A shard cannot hold less than nothing", got=count(samples[shard], "sample"), shard=shard)
    if samples.astype(np.float64).sum() > LARGEST_SIZE:
        raise OrderError("The dataset is too large", got=f"{samples.astype(np.float64).sum():g} samples")


def _check_positive(name: str, value: int) -> None:
    if value < 1:
        raise OrderError(f"{name} is too small", got=value, accepted="1 or more")


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise OrderError(f"{name} is not known", got=repr(value), accepted=", ".join(map(repr, choices)))
