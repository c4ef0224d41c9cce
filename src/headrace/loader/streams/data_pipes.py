"""Torch's data pipes: iterable datasets made of stages, which torch's loader sets up besides."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import IterDataPipe
from torch.utils.data.graph_settings import apply_random_seed, apply_sharding, apply_shuffle_settings

from headrace._base.hashing import fold
from headrace.loader.streams.plan import StreamPlan

SEED_BITS = 63


def shuffled(dataset: Any, shuffle: Any) -> Any:
    """The dataset with its shufflers switched on or off, where it is a pipe and somebody has said which."""
    if shuffle is None or not isinstance(dataset, IterDataPipe):
        return dataset
    return apply_shuffle_settings(dataset, shuffle=bool(shuffle))


def set_up(dataset: Any, plan: StreamPlan, stream: int, epoch: int) -> Any:
    """The dataset as a stream reads it: shufflers of a pipe seeded alike on all ranks, its `sharding_filter` set."""
    if not isinstance(dataset, IterDataPipe):
        return dataset
    generator = torch.Generator().manual_seed(int(fold(plan.seed, epoch)) >> (64 - SEED_BITS))
    return apply_sharding(apply_random_seed(dataset, generator), plan.num_parts, plan.part(stream))
