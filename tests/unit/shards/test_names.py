from __future__ import annotations

import pytest

from headrace.errors import KeyRefusedError, UnsafeFieldError, WriteError
from headrace.shards.names import check_field, check_key, split_name


@pytest.mark.parametrize(
    "name,split",
    [
        ("0001.jpg", ("0001", "jpg")),
        ("dir/a.seg.png", ("dir/a", "seg.png")),
        ("dir.v2/a.JPG", ("dir.v2/a", "jpg")),
        ("./a.jpg", ("./a", "jpg")),
        ("Key.Cls", ("Key", "cls")),
        ("é.Txt", ("é", "txt")),
        ("README", None),
        ("dir.v2/README", None),
        (".hidden.jpg", None),
        ("d/._0001.jpg", None),
        ("__meta.x__", None),
        ("d/__info.json__", None),
        ("", None),
        ("d/", None),
    ],
)
def test_split(name: str, split: tuple[str, str] | None) -> None:
    assert split_name(name) == split


@pytest.mark.parametrize("key", ["a", "d/a", "d.x/a", "a b", "ü", "a\nb", "d/./a", "-"])
def test_keys_that_read_back(key: str) -> None:
    assert check_key(key) == key
    assert split_name(f"{key}.jpg") == (key, "jpg")


@pytest.mark.parametrize(
    "key", ["", "a.b", "d/a.b", ".a", "./a", "d/.a", "d/", "/a", "../a", "d/../a", "a\0b", "\udc80", None, 7]
)
def test_keys_that_do_not_are_refused_and_named(key: object) -> None:
    with pytest.raises(KeyRefusedError) as caught:
        check_key(key)
    assert repr(key) in str(caught.value)


@pytest.mark.parametrize("field", ["", "JPG", "a/b", "x\0", "__key__", "__url__", 5, "\udc80"])
def test_fields_that_do_not_read_back_are_refused(field: object) -> None:
    with pytest.raises(WriteError):
        check_field(field, "key")


def test_a_name_that_would_be_no_sample_is_refused() -> None:
    with pytest.raises(WriteError):
        check_field("x__", "__key")


def test_fields_that_can_run_code_need_permission() -> None:
    for field in ("pkl", "meta.pkl", "pickle", "pyd"):
        with pytest.raises(UnsafeFieldError, match="allow_pickle"):
            check_field(field, "key")
    assert check_field("meta.pkl", "key", ("pkl",)) == "meta.pkl"
