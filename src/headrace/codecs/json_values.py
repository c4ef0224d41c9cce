"""JSON, one value a field, and JSON lines, one value a line."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from headrace._base.units import count
from headrace.errors import DecodeError, WriteError

MAX_BYTES = 64 << 20
"""Largest field that is parsed: parsed JSON takes up to twenty times its bytes, and a batch has many of them."""


def decode_json(extension: str, data: bytes | memoryview) -> Any:
    """One JSON value in UTF-8 (16 and 32 too, which JSON can tell apart).

    Of a key that comes twice the last value counts, and NaN and Infinity are numbers: both as Python's parser has it.

    Raises:
        DecodeError: The bytes are not JSON, nested too deeply, or too many.
    """
    check_size(extension, data)
    return parse(extension, bytes(data), "the field")


def decode_json_lines(extension: str, data: bytes | memoryview) -> list[Any]:
    """One JSON value a line; empty lines are passed over.

    Raises:
        DecodeError: A line is not JSON, and is named; or the bytes are too many.
    """
    check_size(extension, data)
    lines = bytes(data).splitlines()
    return [parse(extension, line, f"line {number}") for number, line in enumerate(lines, 1) if line.strip()]


def check_size(extension: str, data: bytes | memoryview) -> None:
    """Refuses by the size what would take too much memory."""
    if len(data) > MAX_BYTES:
        raise DecodeError(
            "a JSON field is too large to be parsed",
            got=count(len(data), "byte"),
            accepted=f"at most {MAX_BYTES}",
            remedy="Keep arrays of numbers as npy or npz, which are not parsed",
            field=extension,
        )


def parse(extension: str, text: bytes, place: str) -> Any:
    """Parses one value; `place` is how an error calls it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DecodeError(f"{place} is not valid JSON: {error}", got=repr(text[:40]), field=extension) from error


def encode_json(extension: str, value: Any) -> bytes:
    """One value as compact UTF-8 JSON, keys in the order they come.

    Raises:
        WriteError: The value holds something that JSON does not have.
    """
    return write(extension, value)


def encode_json_lines(extension: str, value: Any) -> bytes:
    """Each element of an iterable as one line.

    Raises:
        WriteError: The value is no iterable of JSON values.
    """
    if not isinstance(value, Iterable) or isinstance(value, (str, bytes, dict)):
        raise WriteError(
            "JSON lines are written from a list", got=type(value).__name__, accepted="a list", field=extension
        )
    return b"".join(write(extension, element) + b"\n" for element in value)


def write(extension: str, value: Any) -> bytes:
    """One value as JSON without line breaks; arrays, tensors and their numbers as lists and numbers."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=plain)
        return text.encode("utf-8")
    except (TypeError, ValueError, RecursionError) as error:
        raise WriteError(
            f"a value that JSON cannot hold: {error}", got=type(value).__name__, field=extension
        ) from error


def plain(value: Any) -> Any:
    """Numpy arrays, numpy numbers and tensors as what JSON has."""
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is nothing that JSON has")
