"""What a dataset knows of each of its shards."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardInfo:
    """A shard as the dataset index knows it."""

    url: str
    """Path of the shard."""
    name: str
    """Its base name."""
    num_samples: int
    size_bytes: int
    """Size of the shard in bytes."""
    md5: str | None = None
    """md5 of the shard in hexadecimal, where it is known."""
    headers: str | None = None
    """Hash of some of its header blocks (see `shards/stamp.py`), where it is known."""
