"""Small inputs that loaders get wrong in the field, with their right outcomes."""

from __future__ import annotations

import os
import subprocess
import tarfile
from pathlib import Path

import numpy as np
import pytest

from headrace.errors import (
    CorruptShardError,
    InterleavedSampleError,
    KeyRefusedError,
    NotATarError,
    ShardError,
    TruncatedShardError,
)
from headrace.shards import (
    DatasetIndex,
    ShardFault,
    ShardIndex,
    ShardSet,
    ShardWriter,
    iterate_shard,
    verify_shard,
)
from tests.tars import END, member, pairs, tar_of

BLOCK = 512


def write(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def read(path: Path) -> dict[str, dict[str, bytes]]:
    """All samples of a shard through its index."""
    table = ShardIndex.open(path).table
    data = path.read_bytes()
    return {
        table.key(i): {field: data[offset : offset + size] for field, offset, size in table.members_of(i)}
        for i in range(table.num_samples)
    }


def streamed(path: Path, **options: object) -> dict[str, dict[str, bytes]]:
    return {sample.key: dict(sample.fields) for sample in iterate_shard(path, **options)}  # type: ignore[arg-type]


FOUR_SAMPLES = [(f"{i:04d}.{field}", bytes([65 + i]) * 1000) for i in range(4) for field in ("jpg", "txt")]


class TestCutShard:
    """4 samples of two members, cut after member 5 and 100 bytes later."""

    @pytest.mark.parametrize("extra", [0, 100, 600])
    def test_is_an_error_with_shard_offset_and_last_whole_sample(self, tmp_path: Path, extra: int) -> None:
        cut = 5 * 1536
        shard = write(tmp_path / "x.tar", tar_of(FOUR_SAMPLES)[: cut + extra])
        for read_it in (ShardIndex.open, lambda path: list(iterate_shard(path))):
            with pytest.raises(TruncatedShardError) as caught:
                read_it(shard)
            assert caught.value.where["shard"] == str(shard)
            assert caught.value.where["offset"] == cut
            assert caught.value.where["last_key"] == "0001"
        assert not (tmp_path / "x.tar.index").exists()

    @pytest.mark.parametrize("extra", [0, 100])
    def test_skipping_keeps_two_samples_and_counts_one_fault(self, tmp_path: Path, extra: int) -> None:
        shard = write(tmp_path / "x.tar", tar_of(FOUR_SAMPLES)[: 5 * 1536 + extra])
        index = ShardIndex.open(shard, on_error="skip")
        assert index.keys(range(index.num_samples)) == ["0000", "0001"]
        assert len(index.faults) == 1
        faults: list[ShardFault] = []
        assert list(streamed(shard, on_error="skip", report=faults.append)) == ["0000", "0001"]
        assert [type(fault.error) for fault in faults] == [TruncatedShardError]


def test_overwritten_header_is_corrupt(tmp_path: Path) -> None:
    data = bytearray(tar_of(FOUR_SAMPLES))
    data[4 * 1536 : 4 * 1536 + BLOCK] = b"\xff" * BLOCK
    shard = write(tmp_path / "x.tar", bytes(data))
    for read_it in (ShardIndex.open, lambda path: list(iterate_shard(path))):
        with pytest.raises(CorruptShardError) as caught:
            read_it(shard)
        assert caught.value.where["offset"] == 4 * 1536


def test_no_sample_joins_two_shards(tmp_path: Path) -> None:
    members = [("0001.jpg", b"one"), ("0001.txt", b"1"), ("0002.jpg", b"image of A")]
    whole = b"".join(member(name, data) for name, data in members)
    write(tmp_path / "a.tar", whole[: -BLOCK + 100])  # inside the padding
    write(tmp_path / "b.tar", tar_of([("0002.txt", b"text of B")]))
    dataset = DatasetIndex.open(tmp_path, on_error="skip")
    assert dataset.samples.tolist() == [1, 1]
    assert [type(fault.error) for fault in dataset.faults] == [TruncatedShardError]
    names = ShardSet(dataset)
    assert [(name.shard, name.key) for name in names.names(np.arange(2))] == [
        (str(tmp_path / "a.tar"), "0001"),
        (str(tmp_path / "b.tar"), "0002"),
    ]
    names.close()
    assert streamed(tmp_path / "b.tar") == {"0002": {"txt": b"text of B"}}


def test_members_that_lie_apart(tmp_path: Path) -> None:
    shard = write(tmp_path / "x.tar", tar_of([("0.a", b"0a"), ("1.a", b"1a"), ("0.b", b"0b"), ("1.b", b"1b")]))
    assert read(shard) == {"0": {"a": b"0a", "b": b"0b"}, "1": {"a": b"1a", "b": b"1b"}}
    with pytest.raises(InterleavedSampleError, match="headrace pack") as caught:
        list(iterate_shard(shard, on_error="skip"))
    assert caught.value.where["key"] == "0"
    assert caught.value.where["shard"] == str(shard)
    assert [finding.code for finding in verify_shard(shard).warnings] == ["interleaved"]


def test_hard_link_has_the_bytes_of_its_target(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    write(folder / "a.jpg", b"picture")
    os.link(folder / "a.jpg", folder / "b.jpg")
    subprocess.run(["tar", "-cf", "x.tar", "-C", "d", "a.jpg", "b.jpg"], cwd=tmp_path, check=True)
    assert read(tmp_path / "x.tar") == {"a": {"jpg": b"picture"}, "b": {"jpg": b"picture"}}
    assert streamed(tmp_path / "x.tar") == read(tmp_path / "x.tar")


def test_macos_companions_are_no_samples(tmp_path: Path) -> None:
    names = ["d/._0001.jpg", "d/0001.jpg", "d/._0001.txt", "d/0001.txt"]
    shard = write(tmp_path / "x.tar", tar_of([(name, name.encode()) for name in names]))
    assert read(shard) == {"d/0001": {"jpg": b"d/0001.jpg", "txt": b"d/0001.txt"}}
    assert streamed(shard) == read(shard)


def test_keys_with_a_dot_are_refused_at_write(tmp_path: Path) -> None:
    with ShardWriter(tmp_path / "x-%03d.tar", write_dataset_index=False) as writer:
        for i in range(10):
            with pytest.raises(KeyRefusedError, match=rf"img\.{i:04d}"):
                writer.write({"__key__": f"img.{i:04d}", "txt": "text"})
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_thousand_samples_of_one_byte(tmp_path: Path) -> None:
    for name in ("a", "b"):
        with ShardWriter(tmp_path / name / "x-%03d.tar") as writer:
            for i in range(1000):
                writer.write({"__key__": f"{i:04d}", "bin": b"x"})
    first, second = tmp_path / "a" / "x-000.tar", tmp_path / "b" / "x-000.tar"
    assert first.stat().st_size <= 1_034_240
    assert first.read_bytes() == second.read_bytes()
    assert (tmp_path / "a/index.json").read_bytes() == (tmp_path / "b/index.json").read_bytes()
    assert (tmp_path / "a/x-000.tar.index").read_bytes() == (tmp_path / "b/x-000.tar.index").read_bytes()


FOLDERS = {120: "d" * 50 + "/" + "e" * 50, 270: "/".join(c * 60 for c in "defg")}
FORMS = [
    (120, tarfile.USTAR_FORMAT),  # a ustar header holds 255 characters
    *((length, form) for length in FOLDERS for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT)),
]


@pytest.mark.parametrize("length,form", FORMS)
def test_long_names(tmp_path: Path, length: int, form: int) -> None:
    name = FOLDERS[length] + "/" + "x" * (length - len(FOLDERS[length]) - 5) + ".jpg"
    assert len(name) == length
    shard = write(tmp_path / "x.tar", tar_of([(name, b"long"), ("after.jpg", b"next")], form=form))
    assert read(shard) == {name[:-4]: {"jpg": b"long"}, "after": {"jpg": b"next"}}
    assert streamed(shard) == read(shard)


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_member_of_nine_gib(tmp_path: Path, form: int) -> None:
    info = tarfile.TarInfo("big.bin")
    info.size = 9 << 30
    shard = tmp_path / "x.tar"
    with shard.open("wb") as file:  # a sparse file: nothing of the 9 GiB is written
        file.write(info.tobuf(form))
        start = file.tell()
        file.seek(start + info.size)
        file.write(member("after.txt", b"end") + END)
    index = ShardIndex.open(shard)
    assert index.table.members_of(0) == [("bin", start, 9 << 30)]
    assert index.table.members_of(1) == [("txt", start + (9 << 30) + BLOCK, 3)]


class TestNotATar:
    def test_empty_tar_has_no_samples(self, tmp_path: Path) -> None:
        for size in (1024, 10240):
            shard = write(tmp_path / f"{size}.tar", bytes(size))
            assert ShardIndex.open(shard).num_samples == 0
            assert streamed(shard) == {}

    @pytest.mark.parametrize("data", [b"", b"<!DOCTYPE html><html>404</html>", b"<html>" + b"not found " * 200])
    def test_other_things_are_not_a_tar(self, tmp_path: Path, data: bytes) -> None:
        shard = write(tmp_path / "x.tar", data)
        for read_it in (ShardIndex.open, lambda path: list(iterate_shard(path))):
            with pytest.raises(NotATarError) as caught:
                read_it(shard)
            assert caught.value.where["shard"] == str(shard)
            assert ("html" in str(caught.value)) == bool(data)


class TestArchivesOneAfterAnother:
    def make(self, tmp_path: Path) -> Path:
        for name in ("a.jpg", "a.txt", "b.jpg", "b.txt"):
            write(tmp_path / name, name.encode())
        for key in "ab":
            subprocess.run(f"tar -c {key}.jpg {key}.txt >> x.tar", shell=True, cwd=tmp_path, check=True)
        return tmp_path / "x.tar"

    def test_all_are_read_and_verify_warns(self, tmp_path: Path) -> None:
        shard = self.make(tmp_path)
        expected = {key: {field: f"{key}.{field}".encode() for field in ("jpg", "txt")} for key in "ab"}
        assert read(shard) == expected
        assert streamed(shard) == expected
        report = verify_shard(shard)
        assert report.is_sound
        assert [finding.code for finding in report.warnings] == ["several-archives"]

    @pytest.mark.parametrize("text", [b"trailing text", b"x" * 600, bytes(512) + b"y"])
    def test_other_bytes_after_the_end_are_an_error(self, tmp_path: Path, text: bytes) -> None:
        shard = write(tmp_path / "x.tar", tar_of(pairs(2)) + text)
        for read_it in (ShardIndex.open, lambda path: list(iterate_shard(path))):
            with pytest.raises(CorruptShardError, match="after its end-of-archive"):
                read_it(shard)
        assert [finding.severity for finding in verify_shard(shard).findings] == ["error"]


def test_every_cut_is_an_error(tmp_path: Path) -> None:
    """Whatever the length, there is never a shorter shard in silence."""
    data = tar_of(pairs(3))
    for length in range(0, len(data), 64):
        shard = write(tmp_path / "x.tar", data[:length])
        with pytest.raises(ShardError):
            ShardIndex.open(shard)
        with pytest.raises(ShardError):
            list(iterate_shard(shard))
