"""Datasets of shards and files, and how their bytes become samples."""

from headrace.datasets.shard_dataset import ShardDataset

__all__ = ["ShardDataset"]
