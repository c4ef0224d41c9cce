from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from torchvision.datasets import ImageFolder
from torchvision.transforms import v2

import headrace as hr
from headrace.loader import composition
from tests.property.loader.grid import SHARDS
from tests.tars import tar_of


class Numbers:
    """A map-style dataset whose samples are their own numbers."""

    def __init__(self, num):
        self.num = num

    def __len__(self):
        return self.num

    def __getitem__(self, index):
        return index


def write_shards(folder: Path, counts) -> Path:
    """Shards of these many samples, each of which holds its own number as text."""
    folder.mkdir(parents=True)
    number = 0
    for shard, count in enumerate(counts):
        names = range(number, number + count)
        (folder / f"part-{shard:03d}.tar").write_bytes(tar_of((f"{one:05d}.txt", str(one).encode()) for one in names))
        number += count
    return folder


def write_folder(folder: Path, num: int) -> Path:
    """Grey images of 8 x 8 pixels, each of which holds its own number in every pixel, in three classes or fewer."""
    for number in range(num):
        path = folder / f"class{number * min(3, num) // num}" / f"{number:03d}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full((8, 8), number, dtype=np.uint8)).save(path, quality=100)
    return folder


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory):
    """The shards and image folders of the grid by kind and name, each written once."""
    root = tmp_path_factory.mktemp("grid")

    @functools.cache
    def write(kind, name):
        if kind == "folder":
            return write_folder(root / f"folder{name}", name)
        return write_shards(root / name, SHARDS[name])

    return write


@pytest.fixture
def dataset_of(folder_of):
    """The datasets of the grid by kind and name."""

    @functools.cache
    def make(kind, name):
        if kind == "numbers":
            return Numbers(name)
        if kind == "folder":
            return ImageFolder(folder_of(kind, name), transform=v2.ToImage())
        return hr.ShardDataset(folder_of(kind, name), fields=("txt",) if sum(SHARDS[name]) else None)

    yield make
    make.cache_clear()


@pytest.fixture
def machine_read_once(monkeypatch):
    """Thousands of loaders are made: what this machine has is asked for once."""
    monkeypatch.setattr(composition, "read_machine", functools.cache(composition.read_machine))
