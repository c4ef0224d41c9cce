"""What a codec is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Kind: TypeAlias = Literal["image", "integer", "text", "json", "jsonl", "array", "arrays", "tensor", "pickle", "bytes"]
"""What a field holds, as far as its extension says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Codec:
    """The two directions of one kind of field. Both take the extension without its dot, in lower case."""

    kind: Kind
    extensions: frozenset[str]
    decode: Callable[[str, bytes | memoryview], Any] | None
    """Runs no code from the bytes; None where there is no such way. Raises a `DecodeError` where the bytes are not what
    the extension says."""
    encode: Callable[[str, Any], bytes]
    """Raises a `WriteError` where the value cannot be written under the extension."""
    decode_trusted: Callable[[str, bytes | memoryview], Any] | None = None
    """Takes the place of `decode` where the user allows the bytes to run code."""
