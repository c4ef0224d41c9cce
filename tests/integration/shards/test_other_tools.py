"""Shards of other tools are read here, and shards written here are read by other tools."""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest

from headrace.errors import UnsupportedMemberError
from headrace.shards import DatasetIndex, ShardIndex, ShardWriter, iterate_shard

FILES = {
    "a.jpg": b"picture",
    "a.cls": b"1",
    "deep/" + "d" * 90 + "/" + "e" * 90 + "/b.jpg": b"deep",
    "f" * 150 + ".jpg": b"long",
    "größe.jpg": b"utf-8",
    "c.JPG": bytes(3000),
}


def fields_of(path: Path) -> dict[str, bytes]:
    return {f"{s.key}.{field}": data for s in iterate_shard(path) for field, data in s.fields.items()}


def indexed(path: Path) -> dict[str, bytes]:
    table = ShardIndex.open(path).table
    data = path.read_bytes()
    return {
        f"{table.key(i)}.{field}": data[offset : offset + size]
        for i in range(table.num_samples)
        for field, offset, size in table.members_of(i)
    }


def lowered(files: dict[str, bytes]) -> dict[str, bytes]:
    return {name.replace(".JPG", ".jpg"): data for name, data in files.items()}


@pytest.mark.parametrize("form", ["ustar", "gnu", "pax", "v7", "oldgnu"])
def test_gnu_tar_is_read(tmp_path: Path, form: str) -> None:
    files = {name: data for name, data in FILES.items() if form not in ("ustar", "v7") or len(name) < 100}
    for name, data in files.items():
        (tmp_path / "d" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "d" / name).write_bytes(data)
    subprocess.run(["tar", "-cf", "x.tar", f"--format={form}", "-C", "d", *files], cwd=tmp_path, check=True)
    assert indexed(tmp_path / "x.tar") == fields_of(tmp_path / "x.tar") == lowered(files)


def test_gnu_tar_of_a_whole_folder_with_a_label(tmp_path: Path) -> None:
    (tmp_path / "d" / "e").mkdir(parents=True)
    (tmp_path / "d" / "e" / "a.jpg").write_bytes(b"a")
    (tmp_path / "d" / "README").write_bytes(b"no sample")
    (tmp_path / "d" / "latest").symlink_to("e")
    subprocess.run(["tar", "-cf", "x.tar", "--label=some.label", "-C", "d", "."], cwd=tmp_path, check=True)
    assert indexed(tmp_path / "x.tar") == fields_of(tmp_path / "x.tar") == {"./e/a.jpg": b"a"}


def test_sparse_members_are_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.bin").open("wb") as file:
        file.truncate(1 << 20)
        file.seek(1 << 19)
        file.write(b"x")
    for form in ("gnu", "pax"):
        subprocess.run(["tar", "-cSf", "x.tar", f"--format={form}", "a.bin"], cwd=tmp_path, check=True)
        with pytest.raises(UnsupportedMemberError, match="sparse"):
            ShardIndex.open(tmp_path / "x.tar")
        with pytest.raises(UnsupportedMemberError, match="sparse"):
            fields_of(tmp_path / "x.tar")


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_python_tarfile_is_read(tmp_path: Path, form: int) -> None:
    files = {name: data for name, data in FILES.items() if form != tarfile.USTAR_FORMAT or len(name) < 100}
    with tarfile.open(tmp_path / "x.tar", "w", format=form) as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            info.mtime = 1.5  # a PAX record of its own
            tar.addfile(info, io.BytesIO(data))
    assert indexed(tmp_path / "x.tar") == fields_of(tmp_path / "x.tar") == lowered(files)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    with ShardWriter(tmp_path / "s" / "x-%03d.tar", samples_per_shard=3) as writer:
        for i in range(7):
            writer.write({"__key__": f"d/{i:03d}", "jpg": os.urandom(100 + i), "txt": f"text {i}", "cls": i})
    return tmp_path / "s"


def test_gnu_tar_reads_ours(written: Path) -> None:
    out = subprocess.run(["tar", "-xvf", "x-000.tar"], cwd=written, check=True, capture_output=True, text=True)
    assert out.stderr == ""
    assert {name: (written / name).read_bytes() for name in out.stdout.split()} == indexed(written / "x-000.tar")


@pytest.mark.filterwarnings("ignore")
def test_webdataset_reads_ours(written: Path) -> None:
    webdataset = pytest.importorskip("webdataset")
    urls = [str(path) for path in sorted(written.glob("*.tar"))]
    theirs = list(webdataset.WebDataset(urls, shardshuffle=False))
    ours = [sample for url in urls for sample in iterate_shard(url)]
    assert len(theirs) == 7
    for their, our in zip(theirs, ours, strict=True):
        assert their["__key__"] == our.key
        assert {name: data for name, data in their.items() if not name.startswith("__")} == our.fields


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("suffix", [".tar", ".tar.gz"])
def test_webdataset_is_read(tmp_path: Path, suffix: str) -> None:
    webdataset = pytest.importorskip("webdataset")
    with webdataset.TarWriter(str(tmp_path / f"x{suffix}")) as sink:
        for i in range(5):
            sink.write({"__key__": f"d/{i}", "txt": f"text {i}", "cls": i, "json": {"i": i}})
    samples = list(iterate_shard(tmp_path / f"x{suffix}"))
    assert [sample.key for sample in samples] == [f"d/{i}" for i in range(5)]
    assert samples[3].fields == {"cls": b"3", "json": b'{"i": 3}', "txt": b"text 3"}
    if suffix == ".tar":
        assert indexed(tmp_path / "x.tar") == fields_of(tmp_path / "x.tar")


@pytest.mark.filterwarnings("ignore")
def test_wids_reads_our_dataset_index(written: Path, tmp_path: Path) -> None:
    wids = pytest.importorskip("wids")
    dataset = wids.ShardListDataset(str(written / "index.json"), cache_dir=str(tmp_path / "wids"))
    assert len(dataset) == DatasetIndex.open(written).num_samples == 7
    assert dataset[4]["__key__"] == "d/004"
