from __future__ import annotations

import json
from pathlib import Path

import pytest

from headrace.errors import OptionError, SourceError
from headrace.shards import expand_urls
from headrace.shards.urls import expand_braces


def touch(folder: Path, *names: str) -> list[str]:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()
    return [str(folder / name) for name in names]


@pytest.mark.parametrize(
    "pattern,names",
    [
        ("x-{000..002}.tar", ["x-000.tar", "x-001.tar", "x-002.tar"]),
        ("x-{8..11}", ["x-8", "x-9", "x-10", "x-11"]),
        ("{2..0}", ["2", "1", "0"]),
        ("{a,b}-{0..1}", ["a-0", "a-1", "b-0", "b-1"]),
        ("{a,b{1..2}}", ["a", "b1", "b2"]),
        ("plain", ["plain"]),
        ("{x}", ["{x}"]),
        ("{}{0..1}", ["{}0", "{}1"]),
    ],
)
def test_braces(pattern: str, names: list[str]) -> None:
    assert list(expand_braces(pattern)) == names


def test_folder_glob_list_and_path(tmp_path: Path) -> None:
    paths = touch(tmp_path, "b.tar", "a.tar", "c.txt", ".a.tar.123.tmp", ".hidden.tar")
    assert expand_urls(tmp_path) == sorted(paths[:2])
    assert expand_urls(str(tmp_path / "*.tar")) == sorted(paths[:2])
    assert expand_urls([Path(paths[0]), paths[1]]) == paths[:2]
    assert expand_urls(str(tmp_path / "{b,a}.tar")) == paths[:2]


def test_a_name_that_exists_is_taken_as_it_is(tmp_path: Path) -> None:
    paths = touch(tmp_path, "x[1].tar", "y{0..1}.tar")
    assert expand_urls(paths) == paths


def test_relative_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    touch(tmp_path, "d/a.tar")
    monkeypatch.chdir(tmp_path)
    assert expand_urls("d/a.tar") == ["d/a.tar"]
    assert expand_urls("d") == ["d/a.tar"]


def test_index_json_gives_its_own_order(tmp_path: Path) -> None:
    paths = touch(tmp_path, "b.tar", "a.tar")
    index = tmp_path / "index.json"
    index.write_text(json.dumps({"shardlist": [{"url": "b.tar"}, {"url": "a.tar"}]}))
    assert expand_urls(index) == paths


@pytest.mark.parametrize("name", ["x.tar", "x-{000..001}.tar", "x-*.tar", "nowhere", "index.json"])
def test_what_is_missing_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError) as caught:
        expand_urls(str(tmp_path / name))
    assert str(tmp_path / name).split("{")[0] in str(caught.value)


def test_first_missing_shard_of_many_is_named(tmp_path: Path) -> None:
    touch(tmp_path, "x-0.tar", "x-2.tar")
    with pytest.raises(SourceError, match=r"2 of 4.*x-1\.tar"):
        expand_urls(str(tmp_path / "x-{0..3}.tar"))


def test_empty_things_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="holds no shards"):
        expand_urls(tmp_path)
    with pytest.raises(SourceError, match="no shards are named"):
        expand_urls([])
    with pytest.raises(SourceError, match="cannot read yet"):
        expand_urls("s3://bucket/x.tar")
    with pytest.raises(SourceError, match="too many"):
        expand_urls("x-{0..99999999999}.tar")


def test_a_folder_that_cannot_be_listed_is_still_read(tmp_path: Path) -> None:
    (path,) = touch(tmp_path, "d/a.tar")
    (tmp_path / "d").chmod(0o300)
    try:
        assert expand_urls(path) == [path]
    finally:
        (tmp_path / "d").chmod(0o700)


def test_choices_that_multiply_beyond_measure_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headrace.shards.urls.MOST_URLS", 1000)
    for pattern in ("{0..99}" * 6 + ".tar", "{a,b}" * 10 + ".tar"):
        with pytest.raises(SourceError, match="too many"):
            expand_urls(pattern)


def test_an_index_json_nested_beyond_measure_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.json").write_text("[" * 200_000)
    with pytest.raises(SourceError, match="cannot be read"):
        expand_urls(tmp_path / "index.json")


@pytest.mark.parametrize("urls", [None, 5, b"x.tar", [None], ["x.tar", 3]])
def test_what_is_no_path_is_refused(urls: object) -> None:
    with pytest.raises(OptionError, match=r"named by a path.*got.*index\.json"):
        expand_urls(urls)  # type: ignore[arg-type]
