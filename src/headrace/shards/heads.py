"""The facts of a shard that a dataset needs before it reads a sample of it."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass

from headrace.contracts import OnError
from headrace.errors import IndexFormatError
from headrace.shards.faults import ShardFault
from headrace.shards.index import ShardIndex, index_paths
from headrace.shards.index_file import IndexHead, read_head
from headrace.shards.shard_info import ShardInfo
from headrace.shards.stamp import place_of


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexSummary:
    """What one shard adds to a dataset index."""

    info: ShardInfo
    fields: tuple[str, ...]
    faults: tuple[ShardFault, ...] = ()


def summarise(shard: str, *, on_error: OnError) -> IndexSummary:
    """The summary of a shard: from the head of its index file where size and time agree, else by opening its index.

    The header blocks are compared when the shard is first read.
    """
    with contextlib.suppress(OSError):
        facts = os.stat(shard)
        for path in index_paths(shard, facts):
            with contextlib.suppress(OSError, IndexFormatError):
                head = read_head(path)
                if is_credible(head, shard, facts):
                    return IndexSummary(info=info_of(shard, head), fields=head.fields)
    index = ShardIndex.open(shard, on_error=on_error)
    info = ShardInfo(
        url=shard,
        name=os.path.basename(shard),
        num_samples=index.num_samples,
        size_bytes=index.size_bytes,
        md5=index.md5,
        headers=index.headers,
    )
    return IndexSummary(info=info, fields=index.fields, faults=index.faults)


def info_of(shard: str, head: IndexHead) -> ShardInfo:
    """The shard as the head of its index describes it."""
    return ShardInfo(
        url=shard,
        name=os.path.basename(shard),
        num_samples=head.num_samples,
        size_bytes=head.stamp.size_bytes,
        md5=head.md5,
        headers=head.stamp.headers,
    )


def is_credible(head: IndexHead, shard: str, facts: os.stat_result) -> bool:
    """Whether size and, where the index was made in this place, time are the shard's."""
    stamp = head.stamp
    if stamp.size_bytes != facts.st_size:
        return False
    return stamp.mtime_ns in (None, facts.st_mtime_ns) or stamp.place != place_of(shard, facts.st_ino)
