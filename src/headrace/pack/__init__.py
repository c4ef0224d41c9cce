"""Packs folders, lists and shards into shards."""

from headrace.pack.advice import advise
from headrace.pack.options import Damaged, PackOptions, ResizeOptions
from headrace.pack.packer import pack
from headrace.pack.report import OnProgress, PackProgress, PackReport
from headrace.sources.columns import ListOptions
from headrace.sources.kinds import Dots, SourceKind

__all__ = [
    "Damaged",
    "Dots",
    "ListOptions",
    "OnProgress",
    "PackOptions",
    "PackProgress",
    "PackReport",
    "ResizeOptions",
    "SourceKind",
    "advise",
    "pack",
]
