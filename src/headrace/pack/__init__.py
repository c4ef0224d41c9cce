"""Packs folders, lists and shards into shards."""

from headrace.pack.advice import advise
from headrace.pack.options import Damaged, Dots, ListOptions, PackOptions, ResizeOptions, SourceKind
from headrace.pack.packer import pack
from headrace.pack.report import OnProgress, PackProgress, PackReport

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
