"""Numpy arrays: `npy` holds one, `npz` several by name. Object arrays are refused, since loading them runs pickle.

A compressed `npz` of a few kilobytes can unpack to terabytes, so its sizes are looked at first.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from headrace._base.units import count
from headrace.errors import DecodeError, WriteError

MAX_UNPACKED_BYTES = 1 << 30
"""What the arrays of one `npz` may take where they are more than its own bytes: zeros are packed a thousandfold."""


def decode_array(extension: str, data: bytes | memoryview) -> npt.NDArray[Any]:
    """The array of a `.npy` file.

    Raises:
        DecodeError: The bytes are no `.npy` file, or hold Python objects.
    """
    try:
        array: npt.NDArray[Any] = np.lib.format.read_array(io.BytesIO(data), allow_pickle=False)
    except Exception as error:  # numpy and zipfile raise many kinds on damaged bytes
        raise unreadable(extension, data, error) from error
    return array


def decode_arrays(extension: str, data: bytes | memoryview) -> dict[str, npt.NDArray[Any]]:
    """All arrays of a `.npz` file by name.

    Raises:
        DecodeError: The bytes are no `.npz` file, an array holds Python objects, or they unpack to too much.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            check_unpacked(extension, archive, len(data))
            return {
                name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
            }
    except DecodeError:
        raise
    except Exception as error:  # numpy and zipfile raise many kinds on damaged bytes
        raise unreadable(extension, data, error) from error


def check_unpacked(extension: str, archive: zipfile.ZipFile, size_bytes: int) -> None:
    """Refuses an archive whose members say that they take too much; `zipfile` gives no more of one than it says.

    Raises:
        DecodeError: They do.
    """
    unpacked = sum(member.file_size for member in archive.infolist())
    if unpacked > max(MAX_UNPACKED_BYTES, size_bytes):
        raise DecodeError(
            "the arrays of a numpy field were refused before memory was taken for them",
            got=f"{count(unpacked, 'byte')} unpacked from {size_bytes}",
            accepted=f"at most {MAX_UNPACKED_BYTES}, or as much as the field itself has",
            remedy="Write them uncompressed (np.savez), or each as a field of its own (npy)",
            field=extension,
        )


def unreadable(extension: str, data: bytes | memoryview, error: Exception) -> DecodeError:
    """The error of bytes that numpy cannot or must not load."""
    return DecodeError(
        f"a numpy field cannot be loaded: {error}",
        got=f"{count(len(data), 'byte')} beginning with {bytes(data[:8])!r}",
        accepted="arrays of numbers, booleans or fixed-length text; no Python objects",
        field=extension,
    )


def encode_array(extension: str, value: Any) -> bytes:
    """One array, or what `numpy.asarray` makes of the value.

    Raises:
        WriteError: The array would hold Python objects.
    """
    buffer = io.BytesIO()
    try:
        np.lib.format.write_array(buffer, np.asarray(value), allow_pickle=False)
    except (ValueError, TypeError) as error:
        raise WriteError(
            f"a value that is no plain array: {error}", got=type(value).__name__, field=extension
        ) from error
    return buffer.getvalue()


def encode_arrays(extension: str, value: Any) -> bytes:
    """A mapping of names to arrays, stored without compression and without a time stamp: same input, same bytes.

    Raises:
        WriteError: The value is no mapping of names to plain arrays.
    """
    if not isinstance(value, Mapping):
        raise WriteError(
            "several arrays are written from a mapping", got=type(value).__name__, accepted="a dict", field=extension
        )
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name, array in value.items():
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), encode_array(extension, array))
    return buffer.getvalue()
