from __future__ import annotations

import io
import pickle

import numpy as np
import pytest
import torch

from headrace.codecs import decode, encode, kind_of
from headrace.errors import DecodeError, UnsafeFieldError, WriteError


class Marker:
    """Something that only a pickle can hold."""


@pytest.mark.parametrize(
    ("extension", "kind"),
    [
        ("jpg", "image"),
        ("JPEG", "image"),
        ("seg.png", "image"),
        ("cls", "integer"),
        ("caption.txt", "text"),
        ("json", "json"),
        ("jsonl", "jsonl"),
        ("npy", "array"),
        ("npz", "arrays"),
        ("pth", "tensor"),
        ("pyd", "pickle"),
        ("bin", "bytes"),
        ("", "bytes"),
    ],
)
def test_kind_comes_from_the_last_part_of_the_extension(extension, kind):
    assert kind_of(extension) == kind


@pytest.mark.parametrize(
    ("extension", "value"),
    [
        ("cls", 7),
        ("index", -3),
        ("txt", "Grüße\r\n\n"),
        ("json", {"b": [1, 2.5, None], "a": "ß"}),
        ("jsonl", [{"a": 1}, [2], "x"]),
        ("bin", b"\x00\x01"),
        ("npy", b"anything, if it is bytes already"),
    ],
)
def test_values_read_back_the_same(extension, value):
    data = encode(extension, value)
    assert (data if isinstance(value, bytes) else decode(extension, data)) == value


def test_arrays_read_back_the_same():
    array = np.arange(6, dtype=np.float16).reshape(2, 3)
    assert np.array_equal(decode("npy", encode("npy", array)), array)
    again = decode("npz", encode("npz", {"a": array, "b": np.bool_(1)}))
    assert list(again) == ["a", "b"]
    assert np.array_equal(again["a"], array)


def test_npz_of_numpy_itself_is_read_and_ours_has_no_time_stamp():
    file = io.BytesIO()
    np.savez_compressed(file, x=np.arange(3))
    assert decode("npz", file.getvalue())["x"].tolist() == [0, 1, 2]
    first = encode("npz", {"x": np.arange(3)})
    assert first == encode("npz", {"x": np.arange(3)})
    assert np.load(io.BytesIO(first))["x"].tolist() == [0, 1, 2]


def test_tensors_read_back_the_same():
    again = decode("pt", encode("pt", {"a": torch.arange(3)}))
    assert torch.equal(again["a"], torch.arange(3))


def test_tensor_of_one_integer_is_a_label():
    assert encode("cls", torch.tensor(5)) == encode("cls", np.int64(5)) == b"5"


@pytest.mark.parametrize(
    ("extension", "data"),
    [
        ("cls", b""),
        ("cls", b"cat"),
        ("cls", b"1.5"),
        ("txt", b"\xff\xfe\xfa"),
        ("json", b"{"),
        ("json", b""),
        ("json", b"[" * 100_000),
        ("jsonl", b"1\n{\n"),
        ("npy", b"no array"),
        ("npy", b""),
        ("npz", b"no archive"),
        ("npz", b"PK\x03\x04"),
        ("pt", b"no torch file"),
        ("pt", b""),
    ],
)
def test_bytes_that_are_not_what_the_extension_says(extension, data):
    with pytest.raises(DecodeError) as caught:
        decode(extension, data)
    assert caught.value.where["field"] == extension


def test_line_that_is_no_json_is_named():
    with pytest.raises(DecodeError, match="line 3"):
        decode("jsonl", b"1\n\n{\n")


@pytest.mark.parametrize("extension", ["pkl", "pyd", "pickle", "meta.pkl"])
def test_pickle_needs_permission_both_ways(extension):
    data = pickle.dumps(Marker())
    with pytest.raises(UnsafeFieldError, match="allow_pickle"):
        decode(extension, data)
    with pytest.raises(UnsafeFieldError):
        encode(extension, Marker())
    suffix = extension.rpartition(".")[2]
    assert isinstance(decode(extension, data, allow_pickle=(suffix,)), Marker)
    assert isinstance(
        decode(extension, encode(extension, Marker(), allow_pickle=(extension,)), allow_pickle=(extension,)), Marker
    )


def test_permission_is_for_one_extension():
    with pytest.raises(UnsafeFieldError):
        decode("pkl", pickle.dumps(1), allow_pickle=("pyd",))


def test_damaged_pickle_is_a_decode_error():
    with pytest.raises(DecodeError):
        decode("pkl", b"\x80\x04garbage", allow_pickle=("pkl",))


def test_torch_file_of_other_objects_needs_permission():
    data = encode("pt", Marker())
    with pytest.raises(DecodeError, match="allow_pickle"):
        decode("pt", data)
    assert isinstance(decode("pt", data, allow_pickle=("pt",)), Marker)


def test_array_of_objects_is_refused_both_ways():
    file = io.BytesIO()
    np.save(file, np.array([Marker()]), allow_pickle=True)
    with pytest.raises(DecodeError, match="no Python objects"):
        decode("npy", file.getvalue())
    with pytest.raises(WriteError):
        encode("npy", np.array([Marker()]))


@pytest.mark.parametrize(
    ("extension", "value"),
    [
        ("cls", 1.5),
        ("cls", "3"),
        ("txt", 3),
        ("txt", "\ud800"),
        ("json", {1, 2}),
        ("jsonl", {"a": 1}),
        ("jsonl", 5),
        ("npz", [1]),
        ("pt", lambda: None),
        ("bin", 5),
        ("unknown", "text"),
    ],
)
def test_value_that_does_not_fit_is_not_written(extension, value):
    with pytest.raises(WriteError) as caught:
        encode(extension, value)
    assert caught.value.where["field"] == extension


def test_unknown_extension_gives_the_bytes():
    assert decode("xyz", memoryview(b"abc")) == b"abc"
