"""Bytes of files, many at a time, read natively into one arena."""

from headrace.storage.arena import ArenaRead, read_files, read_ranges
from headrace.storage.gather import Gathering, gather
from headrace.storage.page_cache import CachedRanges, PageCacheReads

__all__ = ["ArenaRead", "CachedRanges", "Gathering", "PageCacheReads", "gather", "read_files", "read_ranges"]
