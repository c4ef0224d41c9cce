"""Shards that somebody writes to while they are in use: the shard is named, not a sample that seems to be broken."""

from __future__ import annotations

import os
from contextlib import closing

import pytest
import torch

import headrace as hr
from headrace.errors import CorruptImageError, DecodeError, ShardChangedError
from headrace.shards import DatasetIndex
from tests.encoded_images import KINDS, photograph
from tests.tars import tar_of

JPEG = KINDS["jpeg 4:2:0"](photograph(40, 50))
NOISE = b"\xff\xd8\xff" + bytes(range(256)) * 20


def shard_of(images, prefix="k"):
    return tar_of([(f"{prefix}{number}.jpg", image) for number, image in enumerate(images)])


@pytest.fixture
def shard(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(shard_of([JPEG] * 8))
    return path


def overwrite(path, data):
    with path.open("r+b") as file:
        file.write(data)
        file.truncate()


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("shift", [512, 0], ids=["longer", "as long"])
def test_an_open_shard_that_is_overwritten_is_told_from_a_broken_sample(shard, num_workers, shift):
    options = {"engine": "threads"} if num_workers else {}
    with closing(
        hr.DataLoader(hr.ShardDataset(shard, fields=("jpg",)), batch_size=1, num_workers=num_workers, **options)
    ) as loader:
        steps = iter(loader)
        next(steps)
        damaged = shard_of([NOISE[: len(JPEG)].ljust(len(JPEG) + shift, b"\0")] * 8, "z")
        overwrite(shard, damaged)
        with pytest.raises(ShardChangedError, match=r"written to, or cut, while it was open.*shard=.*x\.tar") as raised:
            list(steps)
        assert isinstance(raised.value.__cause__, DecodeError) or shift


def test_a_broken_sample_of_a_shard_that_was_only_touched_is_a_broken_sample(tmp_path):
    path = tmp_path / "x.tar"
    path.write_bytes(shard_of([JPEG, JPEG, NOISE]))
    dataset = hr.ShardDataset(path, fields="jpg")
    assert isinstance(dataset[0], torch.Tensor) or dataset[0] is not None
    os.utime(path, ns=(1, 1))
    with pytest.raises(CorruptImageError, match="key=k2"):
        dataset[2]


def test_names_of_a_shard_that_was_cut_are_not_given(shard):
    dataset = hr.ShardDataset(shard, fields="jpg")
    assert dataset[0] is not None
    os.truncate(shard, 2000)
    with pytest.raises(ShardChangedError, match=r"x\.tar"):
        dataset[7]


@pytest.mark.parametrize("listed", [True, False], ids=["index.json", "shard indexes"])
def test_another_shard_of_the_same_size_and_count_is_refused_when_it_is_opened(tmp_path, shard, listed):
    index = DatasetIndex.open(shard)
    if listed:
        index.save(tmp_path / "index.json")
    dataset = hr.ShardDataset(shard, fields="jpg")
    (tmp_path / "other.tar").write_bytes(shard_of([JPEG] * 8, "z"))
    assert (tmp_path / "other.tar").stat().st_size == shard.stat().st_size
    (tmp_path / "other.tar").rename(shard)
    with pytest.raises(ShardChangedError, match=r"holds other members.*x\.tar"):
        dataset[0]
