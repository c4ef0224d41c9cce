from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from headrace.errors import DecodeError, SourceError
from headrace.shards import ShardIndex, ShardWriter, verify_shard
from tests.tars import END, member, pairs, tar_of


def codes(path: Path, **options: object) -> list[tuple[str, str]]:
    report = verify_shard(path, **options)  # type: ignore[arg-type]
    return [(finding.severity, finding.code) for finding in report.findings]


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    with ShardWriter(tmp_path / "x-%02d.tar") as writer:
        for i in range(5):
            writer.write({"__key__": f"{i}", "jpg": f"picture {i}", "txt": "text"})
    return tmp_path / "x-00.tar"


def test_what_we_write_is_sound(shard: Path) -> None:
    report = verify_shard(shard)
    assert report.findings == ()
    assert report.is_sound
    assert (report.num_samples, report.num_members) == (5, 10)
    assert report.size_bytes == shard.stat().st_size
    assert report.md5 is not None


def test_a_flipped_bit_in_data_is_found_by_its_md5(shard: Path) -> None:
    data = bytearray(shard.read_bytes())
    data[520] ^= 1
    shard.write_bytes(bytes(data))
    assert codes(shard) == [("error", "wrong-md5"), ("error", "wrong-md5")]


def test_another_shard_under_the_name(shard: Path) -> None:
    shard.write_bytes(tar_of(pairs(3)))
    assert codes(shard) == [
        ("warning", "stale-index"),
        ("error", "ShardChangedError"),
        ("error", "ShardChangedError"),
        ("error", "wrong-md5"),
    ]


def test_files_beside_it_that_are_no_indexes(shard: Path) -> None:
    Path(f"{shard}.index").write_bytes(b"junk")
    (shard.parent / "index.json").write_text("{}")
    assert codes(shard) == [("warning", "bad-index"), ("error", "IndexFormatError")]


def test_index_json_without_it(shard: Path) -> None:
    document = json.loads((shard.parent / "index.json").read_bytes())
    document["shardlist"] = []
    (shard.parent / "index.json").write_text(json.dumps(document))
    assert codes(shard) == [("warning", "not-listed")]


def test_every_fault_is_listed(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    bad = member("a.jpg", b"1") + member("a.JPG", b"2") + member("b.x", type=b"1", linkname="gone")
    path.write_bytes(bad + member("c.jpg", b"cut off")[:-100])
    report = verify_shard(path)
    assert sorted(finding.code for finding in report.errors) == [
        "DuplicateFieldError",
        "TruncatedShardError",
        "UnresolvedLinkError",
    ]
    assert report.num_samples == 0


@pytest.mark.parametrize(
    "members,code",
    [
        ([], "no-samples"),
        ([("/etc/a.x", b"")], "odd-key"),
        ([("../a.x", b"")], "odd-key"),
        ([("caf\udce9.x", b"")], "odd-key"),
        ([("a.pkl", b"")], "unsafe-field"),
        ([("a.x", b""), ("a.y", b""), ("b.x", b""), ("b.y", b""), ("c.x", b"")], "missing-field"),
        ([("a.x", b""), ("b.x", b""), ("a.y", b""), ("b.y", b"")], "interleaved"),
    ],
)
def test_warnings(tmp_path: Path, members: list[tuple[str, bytes]], code: str) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of(members))
    assert codes(path) == [("warning", code)]


def decode(field: str, data: bytes) -> None:
    if field == "jpg" and b"3" in data:
        raise DecodeError("no image")


@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
def test_decoding_names_key_and_field(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"x{suffix}"
    data = tar_of(pairs(5))
    path.write_bytes(gzip.compress(data) if suffix.endswith("gz") else data)
    report = verify_shard(path, decode=decode)
    (finding,) = report.findings
    assert (finding.code, finding.where["key"], finding.where["field"]) == ("DecodeError", "0003", "jpg")
    assert report.num_samples == 5


def test_compressed_shards(tmp_path: Path) -> None:
    path = tmp_path / "x.tar.gz"
    path.write_bytes(gzip.compress(tar_of(pairs(3))))
    assert codes(path) == []
    path.write_bytes(gzip.compress(tar_of([("a.x", b""), ("b.x", b""), ("a.y", b"")])))
    assert codes(path) == [("error", "InterleavedSampleError")]
    path.write_bytes(gzip.compress(member("a.x", b"") + END)[:-6])
    assert codes(path) == [("error", "TruncatedShardError")]


def test_missing_shard(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="gone"):
        verify_shard(tmp_path / "gone.tar")
    with pytest.raises(SourceError, match="gone"):
        verify_shard(tmp_path / "gone.tar.gz")


def test_progress(shard: Path) -> None:
    seen: list[tuple[int, int]] = []
    verify_shard(shard, decode=decode, on_progress=lambda done, total: seen.append((done, total)))
    assert seen[-1] == (5, 5)
    assert ShardIndex.open(shard).num_samples == 5
