from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from headrace.errors import (
    DuplicateFieldError,
    IndexFormatError,
    ShardError,
    SourceError,
    StorageError,
    UnresolvedLinkError,
    UnsupportedMemberError,
)
from headrace.shards import ShardIndex
from headrace.shards import index as index_module
from headrace.shards.index_file import read_index
from tests.tars import END, member, pairs, tar_of


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of(pairs(20)))
    return path


@pytest.fixture
def scans(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The shards that were scanned."""
    seen: list[str] = []
    scan = index_module.scan_file

    def counted(fd: int, size: int, shard: str, on_progress: object = None) -> object:
        seen.append(shard)
        return scan(fd, size, shard, on_progress)

    monkeypatch.setattr(index_module, "scan_file", counted)
    return seen


def test_content(shard: Path) -> None:
    index = ShardIndex.open(shard)
    assert index.num_samples == 20
    assert index.fields == ("jpg", "txt")
    assert index.size_bytes == shard.stat().st_size
    assert index.key(7) == "0007"
    assert index.keys([0, 19]) == ["0000", "0019"]
    offsets, sizes, present = index.locate(np.array([3, 0]), index.table.field_numbers(["png", "txt"]))
    data = shard.read_bytes()
    assert [data[o : o + s] for o, s in zip(offsets.tolist(), sizes.tolist(), strict=True)] == [
        b"3 txt" * 3,
        b"0 txt" * 3,
    ]
    assert present.tolist() == [True, True]
    assert not index.locate(np.array([3]), index.table.field_numbers(["png"]))[2].any()


def test_first_name_of_an_entry_wins(tmp_path: Path) -> None:
    shard = tmp_path / "x.tar"
    shard.write_bytes(tar_of([("a.png", b"p"), ("a.jpg", b"jj"), ("b.png", b"pp"), ("c.txt", b"")]))
    table = ShardIndex.open(shard).table
    _, sizes, choices = table.locate(np.arange(3), table.field_numbers(["jpg", "png"]))
    assert sizes.tolist() == [2, 2, 0]
    assert choices.tolist() == [0, 1, -1]


def test_index_is_written_once_and_is_a_safetensors_file(shard: Path, scans: list[str]) -> None:
    first = ShardIndex.open(shard)
    again = ShardIndex.open(shard)
    assert scans == [str(shard)]
    arrays = load_file(f"{shard}.index")
    assert arrays["offsets"].tolist() == first.table.offsets.tolist() == again.table.offsets.tolist()
    assert bytes(arrays["keys"]) == b"".join(f"{i:04d}".encode() for i in range(20))
    assert arrays["sample_starts"].dtype == np.uint32


def test_copied_with_its_index_it_is_not_scanned_again(shard: Path, scans: list[str], tmp_path: Path) -> None:
    ShardIndex.open(shard)
    (tmp_path / "copy").mkdir()
    for path in (shard, Path(f"{shard}.index")):
        shutil.copyfile(path, tmp_path / "copy" / path.name)
    assert ShardIndex.open(tmp_path / "copy" / "x.tar").num_samples == 20
    assert len(scans) == 1


class TestStaleIndex:
    def test_another_size(self, shard: Path) -> None:
        ShardIndex.open(shard)
        shard.write_bytes(tar_of(pairs(21)))
        assert ShardIndex.open(shard).num_samples == 21

    def test_another_time_in_the_same_place(self, shard: Path, scans: list[str]) -> None:
        ShardIndex.open(shard)
        facts = shard.stat()
        os.utime(shard, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1))
        ShardIndex.open(shard)
        assert len(scans) == 2

    def test_other_headers_of_the_same_size_elsewhere(self, shard: Path, tmp_path: Path) -> None:
        ShardIndex.open(shard)
        (tmp_path / "d").mkdir()
        other = tmp_path / "d" / "x.tar"
        other.write_bytes(tar_of([(f"z{name[1:]}", data) for name, data in pairs(20)]))
        shutil.copyfile(f"{shard}.index", f"{other}.index")
        assert ShardIndex.open(other).key(0) == "z000"

    @pytest.mark.parametrize(
        "damage",
        [
            lambda _: b"",
            lambda data: data[:100],
            lambda data: data[:-8],
            lambda data: b"\xff" * 8 + data[8:],
            lambda data: data.replace(b'"version":"1"', b'"version":"2"'),
            lambda data: data.replace(b'"U64"', b'"F64"'),
            lambda data: data.replace(b"{", b"[", 1),
            lambda data: data[:-400] + b"\xff" * 200 + data[-200:],
        ],
    )
    def test_damaged_index_is_made_anew(self, shard: Path, damage: object) -> None:
        ShardIndex.open(shard)
        path = Path(f"{shard}.index")
        good = path.read_bytes()
        path.write_bytes(damage(good))  # type: ignore[operator]
        with pytest.raises(IndexFormatError):
            read_index(str(path))
        assert ShardIndex.open(shard).keys(range(20)) == [f"{i:04d}" for i in range(20)]
        assert path.read_bytes() == good


def test_read_only_folder_uses_the_cache(shard: Path, scans: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: object, data: bytes, **options: object) -> None:
        if str(path).startswith(str(shard.parent)):
            raise StorageError("read-only", path=str(path))
        Path(str(path)).write_bytes(data)

    monkeypatch.setattr(index_module, "write_atomic", refuse)
    ShardIndex.open(shard)
    ShardIndex.open(shard)
    assert len(scans) == 1
    assert not Path(f"{shard}.index").exists()


def test_without_any_place_for_it_the_index_is_kept_in_memory(shard: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StorageError("read-only")

    monkeypatch.setattr(index_module, "write_atomic", refuse)
    assert ShardIndex.open(shard).num_samples == 20


def test_several_threads_scan_a_shard_once(shard: Path, scans: list[str]) -> None:
    threads = [threading.Thread(target=ShardIndex.open, args=(shard,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(scans) == 1


def test_waiting_for_another_scan_has_a_deadline(shard: Path) -> None:
    with index_module.scan_lock(str(shard), 1), pytest.raises(StorageError, match="held a lock"):
        ShardIndex.open(shard, deadline_s=0.05)


def test_progress_reaches_the_end(tmp_path: Path) -> None:
    shard = tmp_path / "x.tar"
    shard.write_bytes(tar_of([(f"{i:06d}.x", b"") for i in range(20_000)]))
    seen: list[tuple[int, int]] = []
    ShardIndex.open(shard, on_progress=lambda done, size: seen.append((done, size)))
    assert len(seen) >= 1
    assert all(done <= size == shard.stat().st_size for done, size in seen)


def test_error_from_progress_ends_the_scan(tmp_path: Path) -> None:
    shard = tmp_path / "x.tar"
    shard.write_bytes(tar_of([(f"{i:06d}.x", b"") for i in range(20_000)]))

    def stop(done: int, size: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ShardIndex.open(shard, on_progress=stop)


class TestFaultsOfSamples:
    CASES = (
        ("same field twice", [("a.jpg", b"1"), ("a.jpg", b"2")], {}, DuplicateFieldError),
        ("same field in capitals", [("a.JPG", b"1"), ("a.jpg", b"2")], {}, DuplicateFieldError),
        ("reserved name", [("a.__key__", b"1")], {}, DuplicateFieldError),
        ("device", [("a.jpg", b"")], {"type": b"3"}, UnsupportedMemberError),
        ("unknown type", [("a.jpg", b"")], {"type": b"Z"}, UnsupportedMemberError),
        ("link to nothing", [("a.jpg", b"")], {"type": b"1", "linkname": "gone.jpg"}, UnresolvedLinkError),
        ("link out of the shard", [("a.jpg", b"")], {"type": b"2", "linkname": "../up.jpg"}, UnresolvedLinkError),
        ("absolute link", [("a.jpg", b"")], {"type": b"2", "linkname": "/etc/passwd"}, UnresolvedLinkError),
        ("link to itself", [("a.jpg", b"")], {"type": b"2", "linkname": "a.jpg"}, UnresolvedLinkError),
    )

    @pytest.mark.parametrize("what,members,facts,error", CASES, ids=[case[0] for case in CASES])
    def test_are_errors_that_name_the_sample_and_can_be_skipped(
        self,
        tmp_path: Path,
        what: str,
        members: list[tuple[str, bytes]],
        facts: dict[str, object],
        error: type[ShardError],
    ) -> None:
        bad = b"".join(member(name, data, **facts) for name, data in members)
        shard = tmp_path / "x.tar"
        shard.write_bytes(member("0.jpg", b"0") + bad + member("z.jpg", b"z") + END)
        with pytest.raises(error) as caught:
            ShardIndex.open(shard)
        assert caught.value.where["key"] == "a"
        assert caught.value.where["shard"] == str(shard)
        index = ShardIndex.open(shard, on_error="skip")
        assert index.keys(range(index.num_samples)) == ["0", "z"]
        assert len(index.faults) == 1
        assert not index.faults[0].ends_shard


def test_links_lead_through_links_to_the_file(tmp_path: Path) -> None:
    shard = tmp_path / "x.tar"
    shard.write_bytes(
        member("d/s.jpg", type=b"2", linkname="../e/t.jpg")
        + member("e/t.jpg", type=b"2", linkname="u.jpg")
        + member("e/u.jpg", b"target")
        + member("h.jpg", type=b"1", linkname="d/s.jpg")
        + END
    )
    table = ShardIndex.open(shard).table
    places = {table.key(i): table.members_of(i)[0][1:] for i in range(table.num_samples)}
    assert set(places) == {"d/s", "e/t", "e/u", "h"}
    assert len(set(places.values())) == 1


def test_hard_link_means_the_last_file_of_that_name_before_it(tmp_path: Path) -> None:
    shard = tmp_path / "x.tar"
    shard.write_bytes(
        member("base", b"old") + member("a.x", type=b"1", linkname="base") + member("base", b"newer")
        + member("b.x", type=b"1", linkname="base") + END
    )  # fmt: skip
    table = ShardIndex.open(shard).table
    assert [table.members_of(i)[0][2] for i in range(2)] == [3, 5]


def test_keys_that_are_not_utf8_survive(tmp_path: Path) -> None:
    shard = tmp_path / "x.tar"
    shard.write_bytes(member("caf\udce9.jpg", b"x") + END)
    assert ShardIndex.open(shard).key(0) == "caf\udce9"


@pytest.mark.parametrize("name", ["gone.tar", "x.tar.gz"])
def test_what_cannot_be_indexed_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(SourceError, match=name):
        ShardIndex.open(tmp_path / name)


def test_a_folder_is_no_shard(tmp_path: Path) -> None:
    with pytest.raises((SourceError, StorageError), match=tmp_path.name):
        ShardIndex.open(tmp_path)


def test_faults_are_described_up_to_a_bound_and_all_left_out(tmp_path: Path) -> None:
    shard = tmp_path / "x.tar"
    shard.write_bytes(b"".join(member(f"{i:04d}.__x__", b"") for i in range(1500)) + member("z.x", b"") + END)
    index = ShardIndex.open(shard, on_error="skip")
    assert index.keys(range(index.num_samples)) == ["z"]
    assert len(index.faults) == 1000


@pytest.mark.parametrize(
    "change",
    [
        {"size_bytes": "1" * 30},
        {"size_bytes": "-5"},
        {"num_samples": "-1"},
        {"num_samples": "99999999"},
        {"fields": "[" * 100_000},
        {"fields": '["txt", "txt"]'},
        {"fields": "[5]"},
    ],
    ids=str,
)
def test_a_header_that_no_shard_has_is_refused_and_the_index_made_anew(shard: Path, change: dict[str, str]) -> None:
    whole = ShardIndex.open(str(shard)).num_samples
    rewrite_header(shard, lambda header: header["__metadata__"].update(change))
    with pytest.raises(IndexFormatError):
        read_index(f"{shard}.index")
    assert ShardIndex.open(str(shard)).num_samples == whole
    assert read_index(f"{shard}.index")[1].num_samples == whole


@pytest.mark.parametrize("entry", [{"data_offsets": [float("inf"), 1]}, {"shape": [float("inf")]}], ids=str)
def test_endless_columns_are_refused(shard: Path, entry: dict[str, list[float]]) -> None:
    ShardIndex.open(str(shard))
    rewrite_header(shard, lambda header: header["offsets"].update(entry))
    with pytest.raises(IndexFormatError):
        read_index(f"{shard}.index")


def rewrite_header(shard: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Changes the JSON header of a shard's index."""
    file = Path(f"{shard}.index")
    data = file.read_bytes()
    end = 8 + int.from_bytes(data[:8], "little")
    header = json.loads(data[8:end])
    change(header)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    file.write_bytes(len(text).to_bytes(8, "little") + text + data[end:])


def test_sentences_about_a_shard_are_sentences(tmp_path: Path) -> None:
    data = bytearray(tar_of(pairs(3)))
    data[1024:1536] = b"\xff" * 512
    (tmp_path / "x.tar").write_bytes(data)
    with pytest.raises(ShardError, match="the shard is not sound: a header's checksum is wrong"):
        ShardIndex.open(str(tmp_path / "x.tar"))


@pytest.mark.timeout(20)
def test_a_named_pipe_is_no_shard_and_nobody_waits_for_its_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "x.tar")
    with pytest.raises(SourceError, match="pipe or a device"):
        ShardIndex.open(str(tmp_path / "x.tar"))
