"""Quantiles of a stream of durations in bounded memory: buckets that grow by a fixed factor."""

from __future__ import annotations

import math
from collections.abc import Sequence

BUCKETS_PER_DOUBLING = 8
"""A bucket is 2^(1/8) = 1.09 wide, so a quantile is at most 4.5 % off (its bucket's geometric middle is told)."""
SHORTEST_S = 1e-7
NUM_BUCKETS = 1 + 36 * BUCKETS_PER_DOUBLING
"""From 100 ns to 100 ns * 2^36 = 1.9 hours; bucket 0 takes what is shorter, the last one what is longer."""
LOG_SCALE = BUCKETS_PER_DOUBLING / math.log(2)
OFFSET = 1 - LOG_SCALE * math.log(SHORTEST_S)


def middle_of(bucket: int) -> float:
    """Geometric middle of a bucket in seconds; 0 for the first one."""
    return 0.0 if bucket == 0 else SHORTEST_S * 2.0 ** ((bucket - 0.5) / BUCKETS_PER_DOUBLING)


def quantile(buckets: Sequence[int], share: float) -> float:
    """The duration in seconds that this share of the events does not exceed; 0.0 without events.

    Args:
        buckets: Events of each bucket, shape (NUM_BUCKETS,).
        share: From 0 to 1.
    """
    rank = max(1, math.ceil(share * sum(buckets)))
    seen = 0
    for bucket, num in enumerate(buckets):
        seen += num
        if seen >= rank:
            return middle_of(bucket)
    return 0.0
