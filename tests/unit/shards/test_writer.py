from __future__ import annotations

import errno
import hashlib
import json
import os
import tarfile
from pathlib import Path

import numpy as np
import pytest

from headrace.errors import (
    DiskFullError,
    KeyRefusedError,
    OptionError,
    SourceError,
    UnsafeFieldError,
    WriteError,
)
from headrace.shards import FileRange, ShardFile, ShardIndex, ShardWriter, even_counts, iterate_shard
from headrace.shards import output as output_module
from headrace.shards.md5 import CHUNK_BYTES
from tests.tars import contents


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_values_of_each_kind(tmp_path: Path) -> None:
    picture = tmp_path / "picture"
    picture.write_bytes(b"from a path")
    with picture.open("rb") as file, ShardWriter(tmp_path / "out" / "x-%03d.tar") as writer:
        writer.write(
            {
                "__key__": "d/a",
                "__url__": "left out",
                "jpg": picture,
                "part": FileRange(fd=file.fileno(), size=4, offset=5),
                "cls": 7,
                "txt": "größe",
                "__x": b"not reserved",
                "bin": memoryview(b"view"),
                "f4": np.array([1.5], dtype=np.float32).data,
            }
        )
    (sample,) = iterate_shard(tmp_path / "out" / "x-000.tar")
    assert sample.key == "d/a"
    assert sample.fields == {
        "jpg": b"from a path",
        "part": b"a pa",
        "cls": b"7",
        "txt": "größe".encode(),
        "__x": b"not reserved",
        "bin": b"view",
        "f4": np.float32(1.5).tobytes(),
    }


def test_values_without_an_encoder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="encoder"), ShardWriter(tmp_path) as writer:
        writer.write({"__key__": "a", "json": {"x": 1}})
    with ShardWriter(tmp_path, encode=lambda field, value: json.dumps({field: value}).encode()) as writer:
        writer.write({"__key__": "a", "json": {"x": 1}})
    assert contents(tmp_path / "shard-000000.tar") == [("a.json", b'{"json": {"x": 1}}')]


def test_counts_sizes_and_the_dataset_index(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "x-%03d.tar", samples_per_shard=4, extra={"classes": ["cat"]}) as writer:
        for i in range(10):
            writer.write({"__key__": f"{i}", "txt": "x", "cls": i})
    assert [shard.num_samples for shard in writer.shards] == [4, 4, 2]
    for shard in writer.shards:
        data = Path(shard.url).read_bytes()
        assert shard.size_bytes == len(data)
        assert shard.md5 == hashlib.md5(data).hexdigest()
        assert ShardIndex.open(shard.url).md5 == shard.md5
    document = json.loads((tmp_path / "index.json").read_bytes())
    assert document["__kind__"] == "wids-shard-index-v1"
    assert document["wids_version"] == 1
    assert [(entry["url"], entry["nsamples"]) for entry in document["shardlist"]] == [
        ("x-000.tar", 4),
        ("x-001.tar", 4),
        ("x-002.tar", 2),
    ]
    assert document["headrace"] == {"classes": ["cat"]}
    assert document["headrace_fields"] == ["txt", "cls"]


def test_sizes_bound_shards(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "x-%03d.tar", shard_size_bytes=6000) as writer:
        for i in range(12):
            writer.write({"__key__": f"{i:02d}", "bin": bytes(300 if i != 5 else 9000)})
    assert [shard.num_samples for shard in writer.shards] == [4, 1, 1, 4, 2]
    assert [shard.size_bytes <= 6000 for shard in writer.shards] == [True, True, False, True, True]


def test_counts_make_even_shards(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "x-%03d.tar", counts=even_counts(10, 4)) as writer:
        for i in range(10):
            writer.write_raw(f"{i}", {"txt": b""})
    assert [shard.num_samples for shard in writer.shards] == [3, 3, 4]


@pytest.mark.parametrize("length", [90, 100, 120, 200, 300])
def test_long_names_are_written_as_short_as_they_can(tmp_path: Path, length: int) -> None:
    key = "/".join(["d" * 60] * (length // 61)) + "/" + "k" * (length - length // 61 * 61 - 4)
    with ShardFile(tmp_path / "x.tar") as shard:
        shard.add(key, {"txt": b"x"})
    assert contents(tmp_path / "x.tar") == [(f"{key}.txt", b"x")]
    assert ShardIndex.open(tmp_path / "x.tar").key(0) == key
    with tarfile.open(tmp_path / "x.tar") as tar:
        is_pax = bool(tar.getmembers()[0].pax_headers)
    assert is_pax == (length == 300)


def test_a_key_twice_in_a_shard_is_refused(tmp_path: Path) -> None:
    with ShardFile(tmp_path / "x.tar") as shard:
        shard.add("a", {"txt": b"1"})
        with pytest.raises(KeyRefusedError, match="twice"):
            shard.add("a", {"jpg": b"2"})
    assert contents(tmp_path / "x.tar") == [("a.txt", b"1")]


def test_fields_that_can_run_code_need_permission(tmp_path: Path) -> None:
    with ShardWriter(tmp_path) as writer:
        with pytest.raises(UnsafeFieldError):
            writer.write({"__key__": "a", "pkl": b"x"})
        writer.write({"__key__": "b", "txt": b"x"})
    with ShardWriter(tmp_path / "allowed", allow_pickle=("pkl",)) as writer:
        writer.write({"__key__": "a", "pkl": b"x"})


class TestWholeOrNotAtAll:
    @pytest.mark.parametrize("size", [10, 3 << 20])
    def test_a_sample_that_fails_leaves_no_trace(self, tmp_path: Path, size: int) -> None:
        big = tmp_path / "big"
        big.write_bytes(b"b" * size)
        with ShardFile(tmp_path / "x.tar") as shard:
            shard.add("a", {"bin": big})
            with pytest.raises(SourceError, match="gone"):
                shard.add("b", {"bin": big, "jpg": tmp_path / "gone.jpg"})
            with big.open("rb") as file, pytest.raises(SourceError, match="shorter"):
                shard.add("c", {"bin": FileRange(fd=file.fileno(), size=size + 1)})
            shard.add("d", {"bin": b"d"})
        assert contents(tmp_path / "x.tar") == [("a.bin", b"b" * size), ("d.bin", b"d")]
        assert shard.info is not None
        assert shard.info.md5 == hashlib.md5((tmp_path / "x.tar").read_bytes()).hexdigest()
        assert ShardIndex.open(tmp_path / "x.tar").keys(range(2)) == ["a", "d"]

    def test_a_shard_appears_when_it_is_complete(self, tmp_path: Path) -> None:
        with ShardWriter(tmp_path / "x-%03d.tar", samples_per_shard=1) as writer:
            writer.write({"__key__": "a", "txt": "a"})
            assert not (tmp_path / "x-000.tar").exists()
            writer.write({"__key__": "b", "txt": "b"})
            assert (tmp_path / "x-000.tar").exists()

    def test_an_exception_removes_the_shard_begun_and_keeps_the_finished(self, tmp_path: Path) -> None:
        def write_two_of_three() -> None:
            with ShardWriter(tmp_path / "x-%03d.tar", samples_per_shard=1) as writer:
                writer.write({"__key__": "a", "txt": "a"})
                writer.write({"__key__": "b", "txt": bytes(2 * CHUNK_BYTES)})
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            write_two_of_three()
        assert visible(tmp_path) == ["x-000.tar", "x-000.tar.index"]

    def test_a_full_disk_is_named_and_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        shard = ShardFile(tmp_path / "x.tar")
        shard.add("a", {"txt": b"a"})
        monkeypatch.setattr(output_module.os, "write", full)
        with pytest.raises(DiskFullError, match="Free some space"):
            shard.add("b", {"bin": bytes(3 << 20)})
        monkeypatch.undo()
        shard.discard()
        assert visible(tmp_path) == []

    def test_a_full_disk_at_the_end_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def full(*_: object) -> int:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        shard = ShardFile(tmp_path / "x.tar")
        shard.add("a", {"txt": b"a"})
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(DiskFullError):
            shard.commit()
        monkeypatch.undo()
        assert visible(tmp_path) == []


def test_large_files_are_copied_with_and_without_the_kernel(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = os.urandom(5 << 20)
    (tmp_path / "big").write_bytes(data)

    def refuse(*_: object) -> int:
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    for name in ("first", "second"):
        with ShardFile(tmp_path / name) as shard:
            shard.add("a", {"cls": b"1", "bin": tmp_path / "big", "txt": b"after"})
        monkeypatch.setattr(os, "copy_file_range", refuse, raising=False)
    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert contents(tmp_path / "first") == [("a.cls", b"1"), ("a.bin", data), ("a.txt", b"after")]


def test_existing_shards_are_not_replaced_unasked(tmp_path: Path) -> None:
    for _ in range(2):
        with ShardWriter(tmp_path / "x-%03d.tar", overwrite=True) as writer:
            writer.write({"__key__": "a", "txt": "a"})
    with pytest.raises(WriteError, match="overwrite"), ShardWriter(tmp_path / "x-%03d.tar") as writer:
        writer.write({"__key__": "a", "txt": "b"})


def test_closed_writer_is_not_written_to(tmp_path: Path) -> None:
    with ShardWriter(tmp_path) as writer:
        writer.write({"__key__": "a", "txt": "a"})
    assert writer.close() == tuple(writer.shards)
    with pytest.raises(WriteError, match="closed"):
        writer.write({"__key__": "b", "txt": "b"})


@pytest.mark.parametrize("pattern", ["x.tar", "x-%d-%d.tar", "x-%s.tar", "x.zip", "d-%d"])
def test_patterns_that_are_refused(tmp_path: Path, pattern: str) -> None:
    with pytest.raises(OptionError, match=r"%06d"):
        ShardWriter(tmp_path / pattern)


@pytest.mark.parametrize("options", [{"shard_size_bytes": 0}, {"samples_per_shard": -1}])
def test_options_that_are_refused(tmp_path: Path, options: dict[str, int]) -> None:
    with pytest.raises(OptionError, match=next(iter(options))):
        ShardWriter(tmp_path, **options)  # type: ignore[arg-type]


def test_samples_without_key_or_fields_are_refused(tmp_path: Path) -> None:
    with ShardWriter(tmp_path) as writer:
        with pytest.raises(KeyRefusedError, match="__key__"):
            writer.write({"txt": "a"})
        with pytest.raises(WriteError, match="no fields"):
            writer.write({"__key__": "a"})
    assert writer.shards == []
