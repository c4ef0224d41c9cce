"""Text as UTF-8."""

from __future__ import annotations

from typing import Any

from headrace.errors import DecodeError, WriteError


def decode_text(extension: str, data: bytes | memoryview) -> str:
    """The text as it is, line ends and all.

    Raises:
        DecodeError: The bytes are not UTF-8.
    """
    try:
        return bytes(data).decode("utf-8")
    except UnicodeDecodeError as error:
        raise DecodeError(
            f"a text field is not UTF-8: {error.reason} at byte {error.start}",
            got=repr(bytes(data[error.start : error.start + 8])),
            accepted="UTF-8",
            remedy="Read the field as bytes (any unknown extension) or write it again as UTF-8.",
            field=extension,
        ) from error


def encode_text(extension: str, value: Any) -> bytes:
    """A `str` as UTF-8.

    Raises:
        WriteError: The value is no `str`, or holds half of a surrogate pair.
    """
    if not isinstance(value, str):
        raise WriteError(
            f"a field `{extension}` holds text",
            got=type(value).__name__,
            accepted="a str, or the encoded bytes",
            field=extension,
        )
    try:
        return value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise WriteError(
            f"text that UTF-8 cannot hold: {error.reason}", got=repr(value[:40]), field=extension
        ) from error
