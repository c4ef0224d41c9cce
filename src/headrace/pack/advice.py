"""What to know of a set of shards before training from it."""

from __future__ import annotations

from collections.abc import Sequence

from headrace._base.units import count, format_bytes

GIB = 1 << 30
SMALL_BYTES, LARGE_BYTES = 1 * GIB, 10 * GIB


def advise(sizes_bytes: Sequence[int], num_ranks: int | None = None) -> tuple[str, ...]:
    """Notes on shards of an inconvenient size, and on too few of them.

    Below 1 GiB, opening shards and keeping their indices costs more than it needs to, most of all on object stores;
    above 10 GiB, a shard is a clumsy unit to copy, cache and deal out. A data set that is smaller than one shard
    is left in peace.

    Args:
        sizes_bytes: Size of each shard.
        num_ranks: Ranks that will train from them, where that is known.
    """
    notes = []
    if sizes_bytes:
        mean = sum(sizes_bytes) / len(sizes_bytes)
        if len(sizes_bytes) > 1 and mean < SMALL_BYTES:
            notes.append(f"shards of {format_bytes(mean)} on average are small: 1 to 10 GiB read and copy best")
        if mean > LARGE_BYTES:
            notes.append(f"shards of {format_bytes(mean)} on average are large: 1 to 10 GiB copy and cache best")
    if num_ranks is not None and len(sizes_bytes) < num_ranks:
        notes.append(
            f"{count(len(sizes_bytes), 'shard')} for {count(num_ranks, 'rank')}: every rank gets its even share, "
            "but several read from one shard; smaller shards would let each read its own"
        )
    return tuple(notes)
