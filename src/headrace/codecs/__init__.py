"""Codecs: the bytes of a field become a value and back, chosen by the extension. Knows no shard and no dataset."""

from headrace.codecs.codec import Kind
from headrace.codecs.images import decode_image
from headrace.codecs.integers import decode_integers
from headrace.codecs.masks import decode_mask
from headrace.codecs.registry import decode, encode, kind_of

__all__ = ["Kind", "decode", "decode_image", "decode_integers", "decode_mask", "encode", "kind_of"]
