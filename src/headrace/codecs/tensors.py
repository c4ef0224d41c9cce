"""Torch files. Loaded with `weights_only`: tensors and plain containers, no code."""

from __future__ import annotations

import io
import pickle
from typing import Any

from headrace.errors import DecodeError, WriteError


def decode_tensors(extension: str, data: bytes | memoryview) -> Any:
    """What `torch.save` wrote, as long as it is tensors, numbers, text and plain containers of these.

    Raises:
        DecodeError: The bytes are no torch file, or hold other objects.
    """
    return load(extension, data, weights_only=True)


def decode_any_objects(extension: str, data: bytes | memoryview) -> Any:
    """What `torch.save` wrote, whatever it is: loading runs the code that the bytes name.

    Raises:
        DecodeError: The bytes are no torch file.
    """
    return load(extension, data, weights_only=False)


def load(extension: str, data: bytes | memoryview, *, weights_only: bool) -> Any:
    """Loads on the CPU."""
    import torch

    try:
        return torch.load(io.BytesIO(data), map_location="cpu", weights_only=weights_only)
    except pickle.UnpicklingError as error:
        raise DecodeError(
            "a torch field holds more than tensors and plain containers, or is damaged",
            got=f"{len(data)} bytes",
            remedy=f"If the data is yours, allow it: allow_pickle=({extension!r},).",
            field=extension,
        ) from error
    except Exception as error:  # torch raises many kinds on damaged bytes
        raise DecodeError(
            f"a torch field cannot be loaded: {error}", got=f"{len(data)} bytes", field=extension
        ) from error


def encode_tensors(extension: str, value: Any) -> bytes:
    """`torch.save` of anything it takes.

    Raises:
        WriteError: The value cannot be pickled.
    """
    import torch

    buffer = io.BytesIO()
    try:
        torch.save(value, buffer)
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        raise WriteError(
            f"a value that torch.save cannot write: {error}", got=type(value).__name__, field=extension
        ) from error
    return buffer.getvalue()
