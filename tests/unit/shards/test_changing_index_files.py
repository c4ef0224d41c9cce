"""Index files that somebody cuts, replaces or has made up: an error or a fresh scan, never the end of the process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from headrace.errors import IndexFormatError
from headrace.shards import DatasetIndex, ShardIndex, ShardSet, open_shards
from headrace.shards import catalog as catalog_module
from headrace.shards.arrays_file import encode_arrays, read_arrays
from headrace.shards.index_file import read_head, read_index
from tests.tars import pairs, tar_of

COLUMNS = {"numbers": "U64"}


@pytest.fixture
def shard(tmp_path: Path) -> Path:
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of(pairs(300)))
    return path


CUT_INDEX = """
import os, sys
from headrace.shards import ShardIndex
shard = sys.argv[1]
ShardIndex.open(shard)
index = ShardIndex.open(shard)
os.truncate(shard + ".index", 0)
print(index.key(299), index.num_samples)
"""

CUT_CATALOG = """
import os, sys
from pathlib import Path
from headrace.shards import catalog
catalog.LARGE_BYTES = 1
path = sys.argv[1]
catalog.open_catalog(path)
shards = catalog.open_catalog(path).shards
(compiled,) = Path(os.environ["HEADRACE_CACHE"]).rglob("*.catalog")
os.truncate(compiled, 0)
print(shards[0].name, shards[0].num_samples)
"""


def said(script: str, path: Path) -> str:
    """What a process of its own prints: a bus error would end this one."""
    done = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr or f"ended by {done.returncode}"
    return done.stdout.strip()


def test_an_index_that_is_cut_while_it_is_in_use(shard: Path) -> None:
    assert said(CUT_INDEX, shard) == "0299 300"


def test_a_compiled_dataset_index_that_is_cut_while_it_is_in_use(shard: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    DatasetIndex.open(shard).save(tmp_path / "index.json")
    assert said(CUT_CATALOG, tmp_path / "index.json") == "x.tar 300"


def test_what_was_checked_cannot_change_afterwards(shard: Path) -> None:
    index = ShardIndex.open(shard)
    index = ShardIndex.open(shard)
    before = index.table.offsets.copy()
    path = Path(f"{shard}.index")
    with path.open("r+b") as file:
        file.write(b"\xff" * path.stat().st_size)
    np.testing.assert_array_equal(index.table.offsets, before)


def test_a_pipe_in_the_place_of_an_index(shard: Path) -> None:
    os.mkfifo(f"{shard}.index")
    for read in (read_index, read_head):
        with pytest.raises(IndexFormatError, match="a folder, a pipe or a device"):
            read(f"{shard}.index")
    assert ShardIndex.open(shard).num_samples == 300


def test_an_index_larger_than_any_of_its_shard_takes_no_memory(shard: Path) -> None:
    ShardIndex.open(shard)
    os.truncate(f"{shard}.index", 1 << 40)
    with pytest.raises(IndexFormatError, match="larger than what it describes"):
        read_index(f"{shard}.index")
    assert ShardIndex.open(shard).num_samples == 300


@pytest.mark.parametrize("name", ["a", "x" * 255, "f/" * 70 + "y" * 90, "ü" * 3000])
@pytest.mark.parametrize("num", [0, 1, 50])
def test_no_real_index_is_larger_than_its_shard(tmp_path: Path, name: str, num: int) -> None:
    """Names of all lengths, members without data: the smallest shard for its index."""
    import tarfile

    path = tmp_path / "x.tar"
    with tarfile.open(path, "w") as tar:
        for i in range(num):
            tar.addfile(tarfile.TarInfo(f"{name}{i}.t"))
    ShardIndex.open(path)
    assert len(read_index(f"{path}.index")[0].sample_starts) == num + 1


def test_arrays_that_change_while_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "arrays"
    path.write_bytes(encode_arrays({"numbers": np.arange(10)}, COLUMNS, {}))

    def cut(_: dict[str, str]) -> int:
        os.truncate(path, path.stat().st_size - 8)
        return 1 << 20

    with pytest.raises(IndexFormatError, match="changed while it was read"):
        read_arrays(str(path), COLUMNS, cut)

    def write(_: dict[str, str]) -> int:
        os.utime(path, ns=(1, 1))
        return 1 << 20

    path.write_bytes(encode_arrays({"numbers": np.arange(10)}, COLUMNS, {}))
    with pytest.raises(IndexFormatError, match="changed while it was read"):
        read_arrays(str(path), COLUMNS, write)
    assert read_arrays(str(path), COLUMNS, lambda _: 80)[0]["numbers"].tolist() == list(range(10))


def test_a_compiled_dataset_index_is_smaller_than_its_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalog_module, "LARGE_BYTES", 1)
    monkeypatch.setenv("HEADRACE_CACHE", str(tmp_path / "cache"))
    entries = [{"url": "a", "nsamples": 1, "filesize": 0}] * 1000
    document = {"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": entries}
    (tmp_path / "index.json").write_text(json.dumps(document, separators=(",", ":")))
    first = catalog_module.open_catalog(tmp_path / "index.json")
    (compiled,) = (tmp_path / "cache").rglob("*.catalog")
    size = (tmp_path / "index.json").stat().st_size
    again = catalog_module.compiled_catalog(str(compiled), str(tmp_path), size)
    assert [one.num_samples for one in again.shards] == [one.num_samples for one in first.shards]


def test_indexes_of_idle_shards_are_bounded_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(8):
        (tmp_path / f"{number}.tar").write_bytes(tar_of(pairs(20)))
    dataset = DatasetIndex.open(tmp_path)
    shards = ShardSet(dataset)
    one_bytes = ShardIndex.open(dataset.shards[0].url).size_in_memory
    assert one_bytes > 0
    with shards.fetch_ranges(np.arange(0, 160, 20), (("jpg",),)):
        assert shards.shards.index_bytes == 8 * one_bytes
    monkeypatch.setattr(open_shards, "most_index_bytes", lambda: 3 * one_bytes)
    with shards.fetch_ranges(np.array([0, 40]), (("jpg",),)):
        pass
    assert shards.num_open == 3
    monkeypatch.setattr(open_shards, "most_index_bytes", lambda: 0)
    with shards.fetch_ranges(np.arange(0, 160, 20), (("jpg",),)):
        assert shards.num_open == 8, "what is being read stays"
    assert shards.num_open == 0
    assert shards.shards.index_bytes == 0
