"""Tar shards in WebDataset layout: reading, indexing, writing, checking. See docs/design/shards.md."""

from __future__ import annotations

from headrace.shards.dataset_index import DatasetIndex
from headrace.shards.even import even_counts, even_cuts
from headrace.shards.faults import ShardFault
from headrace.shards.file_ranges import OpenFiles, open_all
from headrace.shards.index import ShardIndex
from headrace.shards.md5 import md5_of_file
from headrace.shards.names import split_name
from headrace.shards.output import FileRange
from headrace.shards.range_lease import RangeLease
from headrace.shards.report import Finding, VerifyReport
from headrace.shards.shard_file import FieldBytes, ShardFile
from headrace.shards.shard_info import ShardInfo
from headrace.shards.shard_set import ShardSet
from headrace.shards.stream import RawSample, iterate_shard
from headrace.shards.urls import expand_urls
from headrace.shards.verify import verify_shard
from headrace.shards.writer import ShardWriter

__all__ = [
    "DatasetIndex",
    "FieldBytes",
    "FileRange",
    "Finding",
    "OpenFiles",
    "RangeLease",
    "RawSample",
    "ShardFault",
    "ShardFile",
    "ShardIndex",
    "ShardInfo",
    "ShardSet",
    "ShardWriter",
    "VerifyReport",
    "even_counts",
    "even_cuts",
    "expand_urls",
    "iterate_shard",
    "md5_of_file",
    "open_all",
    "split_name",
    "verify_shard",
]
