"""Torch files. Loaded with `weights_only`: tensors and plain containers, no code.

torch never compresses what it saves, but unpacks what somebody else compressed, without a limit: such files are
refused.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from typing import Any

from headrace._base.units import count
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

    file = io.BytesIO(data)
    check_unpacked(extension, file, len(data))
    try:
        return torch.load(file, map_location="cpu", weights_only=weights_only)
    except pickle.UnpicklingError as error:
        raise DecodeError(
            "a torch field holds more than tensors and plain containers, or is damaged",
            got=count(len(data), "byte"),
            remedy=f"If the data is yours, allow it: allow_pickle=({extension!r},).",
            field=extension,
        ) from error
    except Exception as error:  # torch raises many kinds on damaged bytes
        raise DecodeError(
            f"a torch field cannot be loaded: {error}", got=count(len(data), "byte"), field=extension
        ) from error


def check_unpacked(extension: str, file: io.BytesIO, size_bytes: int) -> None:
    """Refuses an archive whose members take more than it has bytes; what is no archive is left to torch.

    Args:
        extension: Of the field.
        file: Is at its beginning again afterwards.
        size_bytes: Its size.

    Raises:
        DecodeError: They do.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        return
    finally:
        file.seek(0)
    if unpacked > size_bytes:
        raise DecodeError(
            "a torch field would take more memory than it has bytes",
            got=f"{count(unpacked, 'byte')} unpacked from {size_bytes}",
            accepted="what torch.save writes, which is not compressed",
            field=extension,
        )


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
