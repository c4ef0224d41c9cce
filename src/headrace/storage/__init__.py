"""Bytes of files, many at a time, read natively into one arena."""

from headrace.storage.arena import ArenaRead, read_files, read_ranges
from headrace.storage.gather import Gathering, gather

__all__ = ["ArenaRead", "Gathering", "gather", "read_files", "read_ranges"]
