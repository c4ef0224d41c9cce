"""Whole numbers as decimal text: class labels, counts, indexes."""

from __future__ import annotations

import operator
from typing import Any

from headrace import _native
from headrace.contracts import I64, ByteColumn
from headrace.errors import DecodeError, WriteError

MAX_SHOWN_BYTES = 40


def decode_integer(extension: str, data: bytes | memoryview) -> int:
    """A decimal number with or without sign and surrounding white space.

    Raises:
        DecodeError: Anything else, an empty field too.
    """
    text = bytes(data)
    try:
        return int(text)
    except ValueError as error:
        raise DecodeError(
            "a field that should hold one whole number does not",
            got=repr(text[:MAX_SHOWN_BYTES]),
            accepted="decimal digits, such as 42",
            field=extension,
        ) from error


def decode_integers(column: ByteColumn) -> I64 | None:
    """What `decode_integer` gives for every row, in one native call.

    Returns:
        Shape (rows,); None where a row is absent or not plainly a number, and `decode_integer` has to say more.
    """
    if len(column.absent):
        return None
    return _native.parse_integers(column.addresses, column.sizes)


def encode_integer(extension: str, value: Any) -> bytes:
    """Python and numpy integers, and anything else that is one by `__index__` (a tensor of one integer).

    Raises:
        WriteError: The value is no integer.
    """
    try:
        return str(operator.index(value)).encode()
    except TypeError as error:
        raise WriteError(
            f"a field `{extension}` holds one whole number",
            got=repr(value),
            accepted="an int, or the encoded bytes",
            field=extension,
        ) from error
