"""Codecs: the bytes of a field become a value and back, chosen by the extension. Knows no shard and no dataset."""

from headrace.codecs.codec import Kind
from headrace.codecs.images import decode_image
from headrace.codecs.integers import decode_integers
from headrace.codecs.masks import decode_mask
from headrace.codecs.paths import Path, parse_path
from headrace.codecs.registry import decode, encode, extensions_of_kinds, kind_of
from headrace.codecs.text import decode_text

__all__ = [
    "Kind",
    "Path",
    "decode",
    "decode_image",
    "decode_integers",
    "decode_mask",
    "decode_text",
    "encode",
    "extensions_of_kinds",
    "kind_of",
    "parse_path",
]
