"""A second writer in a folder keeps what the index of the first one says."""

import json

import pytest

import headrace as hr
from headrace.errors import WriteError


def write(folder, name, field="cls", **options):
    with hr.ShardWriter(folder / f"{name}-%06d.tar", samples_per_shard=2, **options) as writer:
        for number in range(4):
            writer.write({"__key__": f"{name}{number}", field: number if field == "cls" else str(number)})


def read(folder):
    return json.loads((folder / "index.json").read_bytes())


@pytest.mark.parametrize("again", [{}, {"extra": {"class_names": ["a", "b"]}}, {"extra": {"other": 1}}])
def test_other_shards_fields_and_class_names_stay(tmp_path, again):
    write(tmp_path, "train", extra={"class_names": ["a", "b"]})
    write(tmp_path, "val", field="txt", **again)
    index = read(tmp_path)
    names = [f"{name}-{number:06}.tar" for name in ("train", "val") for number in range(2)]
    assert [entry["url"] for entry in index["shardlist"]] == names
    assert index["headrace_fields"] == ["cls", "txt"]
    assert index["headrace"] == {"class_names": ["a", "b"], **again.get("extra", {})}
    assert len(hr.ShardDataset(str(tmp_path), fields=None, missing="none")) == 8


def test_other_class_names_are_refused_and_the_index_stays(tmp_path):
    write(tmp_path, "train", extra={"class_names": ["a", "b"]})
    before = (tmp_path / "index.json").read_bytes()
    with pytest.raises(WriteError, match="class_names"):
        write(tmp_path, "val", extra={"class_names": ["b", "a"]})
    assert (tmp_path / "index.json").read_bytes() == before


def test_shards_that_are_written_anew_or_gone_are_not_kept(tmp_path):
    write(tmp_path, "train", extra={"class_names": ["a", "b"]})
    write(tmp_path, "train", overwrite=True, extra={"class_names": ["c"]})
    assert read(tmp_path)["headrace"] == {"class_names": ["c"]}
    assert len(read(tmp_path)["shardlist"]) == 2
    for path in tmp_path.glob("train-*"):
        path.unlink()
    write(tmp_path, "val")
    assert [entry["url"] for entry in read(tmp_path)["shardlist"]] == ["val-000000.tar", "val-000001.tar"]


def test_an_index_that_cannot_be_read_is_replaced(tmp_path):
    (tmp_path / "index.json").write_text("no JSON")
    write(tmp_path, "train")
    assert len(read(tmp_path)["shardlist"]) == 2
