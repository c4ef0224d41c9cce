from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from headrace.errors import IndexFormatError, SourceError, TruncatedShardError
from headrace.shards import DatasetIndex, ShardWriter, catalog
from tests.tars import pairs, tar_of


def write(folder: Path, num: int = 6, **options: object) -> Path:
    with ShardWriter(folder / "x-%02d.tar", samples_per_shard=2, **options) as writer:  # type: ignore[arg-type]
        for i in range(num):
            writer.write({"__key__": f"{i}", "txt": f"{i}"})
    return folder


def test_index_json_is_believed_without_opening_a_shard(tmp_path: Path) -> None:
    write(tmp_path, extra={"classes": ["cat"]})
    for shard in tmp_path.glob("*.tar"):
        shard.write_bytes(b"")
        Path(f"{shard}.index").unlink()
    for urls in (tmp_path, tmp_path / "index.json", str(tmp_path / "x-{00..02}.tar"), str(tmp_path / "*.tar")):
        dataset = DatasetIndex.open(urls)
        assert dataset.samples.tolist() == [2, 2, 2]
        assert dataset.num_samples == 6
        assert dataset.fields == ("txt",)
        assert dataset.extra == {"classes": ["cat"]}
        assert [shard.name for shard in dataset.shards] == ["x-00.tar", "x-01.tar", "x-02.tar"]
        assert [shard.url for shard in dataset.shards] == [str(tmp_path / f"x-0{i}.tar") for i in range(3)]


def test_some_of_its_shards_in_another_order(tmp_path: Path) -> None:
    write(tmp_path, num=5)
    dataset = DatasetIndex.open([tmp_path / "x-02.tar", tmp_path / "x-00.tar"])
    assert dataset.samples.tolist() == [1, 2]
    assert [shard.name for shard in dataset.shards] == ["x-02.tar", "x-00.tar"]
    assert dataset.sizes.tolist() == [Path(shard.url).stat().st_size for shard in dataset.shards]


def test_index_json_that_lacks_a_shard_is_not_used(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "y.tar").write_bytes(tar_of(pairs(3)))
    assert DatasetIndex.open(tmp_path).samples.tolist() == [2, 2, 2, 3]


def test_without_index_json_the_shard_indexes_are_read(tmp_path: Path) -> None:
    write(tmp_path, write_dataset_index=False)
    (tmp_path / "w.tar").write_bytes(tar_of(pairs(3)))
    seen: list[tuple[int, int]] = []
    dataset = DatasetIndex.open(tmp_path, on_progress=lambda done, total: seen.append((done, total)))
    assert dataset.samples.tolist() == [3, 2, 2, 2]
    assert dataset.fields == ("jpg", "txt")
    assert [shard.md5 is not None for shard in dataset.shards] == [False, True, True, True]
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]
    assert (tmp_path / "w.tar.index").exists()


def test_saved_and_opened_again(tmp_path: Path) -> None:
    write(tmp_path, write_dataset_index=False)
    dataset = DatasetIndex.open(tmp_path)
    dataset.save(tmp_path / "index.json", extra={"labels": [3]})
    again = DatasetIndex.open(tmp_path)
    assert list(again.shards) == list(dataset.shards)
    assert again.extra == {"labels": [3]}
    assert again.fields == dataset.fields


def test_shards_outside_of_its_folder_are_named_in_full(tmp_path: Path) -> None:
    write(tmp_path / "shards", write_dataset_index=False)
    (tmp_path / "lists").mkdir()
    DatasetIndex.open(tmp_path / "shards").save(tmp_path / "lists" / "index.json")
    dataset = DatasetIndex.open(tmp_path / "lists" / "index.json")
    assert dataset.num_samples == 6
    assert Path(json.loads((tmp_path / "lists" / "index.json").read_bytes())["shardlist"][0]["url"]).is_absolute()


def test_index_of_somebody_else(tmp_path: Path) -> None:
    """A wids index without our keys and without sizes."""
    write(tmp_path, write_dataset_index=False)
    entries = [{"url": f"x-0{i}.tar", "nsamples": 2} for i in range(3)]
    document = {"__kind__": "wids-shard-index-v1", "wids_version": 1, "name": "train", "shardlist": entries}
    (tmp_path / "index.json").write_text(json.dumps(document))
    dataset = DatasetIndex.open(tmp_path)
    assert dataset.fields == ("txt",)
    assert dataset.sizes.tolist() == [(tmp_path / f"x-0{i}.tar").stat().st_size for i in range(3)]


@pytest.mark.parametrize(
    "document",
    [
        "{",
        "[]",
        '{"shardlist": []}',
        '{"__kind__": "wids-shard-index-v1", "wids_version": 2, "shardlist": []}',
        '{"__kind__": "wids-shard-index-v1", "wids_version": 1}',
        '{"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": [{"url": "x-00.tar", "nsamples": -1}]}',
        '{"__kind__": "wids-shard-index-v1", "wids_version": 1, "shardlist": [{"url": 5, "nsamples": 1}]}',
    ],
)
def test_index_json_that_is_not_valid_is_named(tmp_path: Path, document: str) -> None:
    write(tmp_path)
    (tmp_path / "index.json").write_text(document)
    with pytest.raises(IndexFormatError) as caught:
        DatasetIndex.open(tmp_path)
    assert str(tmp_path / "index.json") in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        {"shardlist": [{"url": "", "nsamples": 2}]},
        {"shardlist": [{"url": "\ud800.tar", "nsamples": 2}]},
        {"shardlist": [{"url": "a\0b.tar", "nsamples": 2}]},
        {"shardlist": [{"url": "x-00.tar", "nsamples": 2, "md5sum": "\ud800"}]},
        {"shardlist": [{"url": "x-00.tar", "nsamples": 2, "md5sum": {"a": 1}}]},
        {"shardlist": [{"url": "x-00.tar", "nsamples": 1 << 53}] * 1024},
        {"headrace_fields": 5},
        {"headrace_fields": [5]},
        {"headrace": 5},
    ],
    ids=ascii,
)
def test_what_no_index_json_holds_is_refused(tmp_path: Path, change: dict[str, object]) -> None:
    write(tmp_path)
    document = {
        "__kind__": "wids-shard-index-v1",
        "wids_version": 1,
        "shardlist": [{"url": "x-00.tar", "nsamples": 2}],
        **change,
    }
    (tmp_path / "index.json").write_text(json.dumps(document))
    with pytest.raises(IndexFormatError):
        DatasetIndex.open(tmp_path)


def test_missing_shard_is_named(tmp_path: Path) -> None:
    write(tmp_path)
    (tmp_path / "x-01.tar").unlink()
    with pytest.raises(SourceError, match=r"x-01\.tar"):
        DatasetIndex.open(tmp_path / "index.json")


def test_faulty_shard_is_an_error_or_is_shortened(tmp_path: Path) -> None:
    write(tmp_path, write_dataset_index=False)
    bad = tmp_path / "x-01.tar"
    bad.write_bytes(bad.read_bytes()[:1024])
    with pytest.raises(TruncatedShardError, match=r"x-01\.tar"):
        DatasetIndex.open(tmp_path)
    dataset = DatasetIndex.open(tmp_path, on_error="skip")
    assert dataset.samples.tolist() == [2, 0, 2]
    assert len(dataset.faults) == 1


def test_large_index_is_compiled_once(tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path)
    monkeypatch.setattr(catalog, "LARGE_BYTES", 1)
    first = DatasetIndex.open(tmp_path)
    monkeypatch.setattr(catalog, "parse_document", None)
    again = DatasetIndex.open(tmp_path)
    assert list(again.shards) == list(first.shards)
    assert (again.fields, again.extra) == (first.fields, first.extra)
    assert np.array_equal(again.sizes, first.sizes)


def test_it_can_be_pickled(tmp_path: Path) -> None:
    dataset = DatasetIndex.open(write(tmp_path))
    again = pickle.loads(pickle.dumps(dataset))
    assert list(again.shards) == list(dataset.shards)


def test_shard_list_is_a_sequence(tmp_path: Path) -> None:
    shards = DatasetIndex.open(write(tmp_path)).shards
    assert shards[-1] == shards[2]
    assert shards[1:] == (shards[1], shards[2])
    with pytest.raises(IndexError):
        shards[3]
