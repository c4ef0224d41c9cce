"""Small files that unpack to much more: refused by what they say, before memory is taken."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest
import torch

from headrace.codecs import decode, encode
from headrace.codecs.arrays import MAX_UNPACKED_BYTES
from headrace.errors import DecodeError

MOST_TAKEN_BYTES = 16 << 20


def repacked(data: bytes, method: int) -> bytes:
    """The same archive with another compression."""
    file = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(file, "w", method) as target:
        for member in source.infolist():
            target.writestr(member.filename, source.read(member))
    return file.getvalue()


def claiming(data: bytes, size_bytes: int) -> bytes:
    """An archive whose directory says that its first member has so many bytes."""
    changed = bytearray(data)
    struct.pack_into("<I", changed, data.index(b"PK\x01\x02") + 24, size_bytes)
    return bytes(changed)


def refused_without_memory(extension: str, data: bytes, message: str) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DecodeError, match=message):
            decode(extension, data)
        assert tracemalloc.get_traced_memory()[1] < MOST_TAKEN_BYTES
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_arrays_that_would_unpack_to_too_much_are_refused(method: int) -> None:
    data = repacked(encode("npz", {"a": np.zeros(1000)}), method)
    np.testing.assert_array_equal(decode("npz", data)["a"], np.zeros(1000))
    refused_without_memory("npz", claiming(data, MAX_UNPACKED_BYTES + 1), "refused before memory")


def test_arrays_of_many_members_are_counted_together() -> None:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(70):
            with archive.open(f"{number}.npy", "w") as member:
                for _ in range(16):
                    member.write(bytes(1 << 20))
    refused_without_memory("npz", file.getvalue(), "refused before memory")


def test_compressed_arrays_are_read() -> None:
    file = io.BytesIO()
    np.savez_compressed(file, a=np.zeros((1 << 12, 1 << 10), np.uint8))
    assert decode("npz", file.getvalue())["a"].shape == (1 << 12, 1 << 10)


def test_torch_files_that_somebody_compressed_are_refused() -> None:
    value = torch.zeros(1 << 20, dtype=torch.uint8)
    data = encode("pt", value)
    assert torch.equal(decode("pt", data), value)
    refused_without_memory("pt", repacked(data, zipfile.ZIP_DEFLATED), "more memory than it has bytes")


@pytest.mark.parametrize("new_format", [True, False])
def test_what_torch_writes_is_read(new_format: bool) -> None:
    value = {"a": torch.arange(1000), "b": [torch.ones(()), 2, "text"]}
    file = io.BytesIO()
    torch.save(value, file, _use_new_zipfile_serialization=new_format)
    found = decode("pt", file.getvalue())
    assert torch.equal(found["a"], value["a"])
    assert found["b"] == value["b"]
