"""How many bytes of batches may be in flight: a pure decision."""

from __future__ import annotations

from dataclasses import dataclass

from headrace._base.units import count, format_bytes, parse_bytes

SHARE = 0.2
"""Part of the memory at hand that all loaders of a node may hold; page cache, model and optimizer need the rest."""

MOST_BYTES = 8 << 30
"""Beyond this, more batches in flight have not made any run faster; memory is left to the page cache."""

LEAST_BYTES = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryDecision:
    """A budget in bytes and its reason."""

    size_bytes: int
    reason: str


def decide_memory(budget: int | str, *, available_bytes: int, local_world_size: int) -> MemoryDecision:
    """The byte budget of this process.

    Args:
        budget: Bytes, a size such as "8GiB", or "auto".
        available_bytes: Memory that this process may still take (machine and cgroup).
        local_world_size: Ranks that share it.
    """
    if budget != "auto":
        return MemoryDecision(size_bytes=parse_bytes(budget), reason="as asked")
    share = int(available_bytes * SHARE / local_world_size)
    size = max(LEAST_BYTES, min(share, MOST_BYTES))
    ranks = f" shared by {count(local_world_size, 'rank')}" if local_world_size > 1 else ""
    reason = f"{SHARE:.0%} of {format_bytes(available_bytes)} at hand{ranks}, at most {format_bytes(MOST_BYTES)}"
    return MemoryDecision(size_bytes=size, reason=reason)
