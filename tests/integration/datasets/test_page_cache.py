"""Images that are left in the page cache until they are decoded are those that an I/O thread reads ahead of time."""

from contextlib import closing

import pytest
import torch
from torchvision.transforms import v2

import headrace as hr
from headrace._base.open_files import OPEN_FILES
from headrace.datasets.shard_source import ShardSource
from headrace.errors import ShardChangedError
from headrace.storage import PageCacheReads, page_cache
from tests.encoded_images import KINDS, photograph
from tests.page_cache import bring_in, throw_out

NUM = 48
MOST_BYTES = 100_000
"""Less than what the images have together."""
CROP = v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip()])
TRANSFORMS = {
    "fused": CROP,
    "python in between": v2.Compose([v2.Resize(40), v2.CenterCrop(32), v2.Grayscale(3), v2.Resize((24, 24))]),
    "whole images": v2.Compose([v2.Grayscale(3), v2.Resize((24, 24))]),
    "views": hr.Views((CROP, 2), (v2.Compose([v2.CenterCrop(16)]), 1)),
}
ENGINES = {
    "caller": {"num_workers": 0},
    "threads": {"engine": "threads", "num_workers": 2},
    "processes": {"engine": "processes", "num_workers": 2},
}


@pytest.fixture
def folder(photographs, tmp_path):
    """Three shards."""
    with hr.ShardWriter(tmp_path / "s-%d.tar", samples_per_shard=20) as writer:
        for number, path in enumerate(sorted(photographs.rglob("*.jpg"))[:NUM]):
            writer.write({"__key__": f"k{number:02d}", "jpg": path.read_bytes(), "cls": number})
    for path in tmp_path.glob("*.tar"):
        bring_in(path)
    return tmp_path


def run(folder, transform=CROP, **options):
    """The batches of an epoch, and how many bytes of images were left in the page cache."""
    dataset = hr.ShardDataset(folder, fields=("jpg", "cls"), transform=transform)
    options = {"engine": "threads", "num_workers": 2} | options
    with closing(hr.DataLoader(dataset, batch_size=16, shuffle=True, seed=5, **options)) as loader:
        made = list(loader)
        return made, loader.stats().counts.get("page_cache_bytes", 0)


@pytest.fixture
def read_ahead(monkeypatch):
    """Has everything read ahead from now on."""
    return lambda: monkeypatch.setattr(PageCacheReads, "found", lambda *_: False)


@pytest.fixture
def lost(monkeypatch, folder):
    """Has all shards thrown out of the page cache between fetching a batch and making it."""
    fetch = ShardSource.fetch

    def fetch_and_lose(source, ids, allocate):
        for path in folder.glob("*.tar"):
            bring_in(path)
        columns = fetch(source, ids, allocate)
        for path in folder.glob("*.tar"):
            throw_out(path)
        return columns

    monkeypatch.setattr(ShardSource, "fetch", fetch_and_lose)
    monkeypatch.setattr(page_cache, "PAUSE_BATCHES", 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_the_batches_are_the_same(folder, read_ahead, transform, engine):
    found, left_bytes = run(folder, TRANSFORMS[transform], **ENGINES[engine])
    assert left_bytes > MOST_BYTES
    read_ahead()
    expected, none = run(folder, TRANSFORMS[transform], **ENGINES["threads"])
    assert none == 0
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("transform", TRANSFORMS)
@pytest.mark.usefixtures("lost")
def test_what_is_lost_from_the_page_cache_is_read_again(folder, read_ahead, transform):
    found, left_bytes = run(folder, TRANSFORMS[transform], engine="auto", num_workers=0)
    assert left_bytes > MOST_BYTES
    read_ahead()
    expected, _ = run(folder, TRANSFORMS[transform], engine="auto", num_workers=0)
    torch.testing.assert_close(found, expected, rtol=0, atol=0)


@pytest.mark.parametrize("odd", ["png", "cmyk jpeg"])
def test_what_the_kernel_leaves_is_decoded_by_pillow(tmp_path, read_ahead, odd):
    with hr.ShardWriter(tmp_path / "t-%d.tar") as writer:
        for number in range(NUM):
            encode = KINDS[odd if number % 5 == 2 else "jpeg 4:2:0"]
            writer.write({"__key__": f"k{number:02d}", "jpg": encode(photograph(60 + number, 80)), "cls": number})
    bring_in(tmp_path / "t-0.tar")
    found, left_bytes = run(tmp_path)
    assert left_bytes > 0
    read_ahead()
    torch.testing.assert_close(found, run(tmp_path)[0], rtol=0, atol=0)


@pytest.mark.parametrize("engine", ["caller", "threads"])
def test_a_shard_that_ends_early_is_named(folder, monkeypatch, engine):
    fetch = ShardSource.fetch

    def fetch_and_cut(source, ids, allocate):
        columns = fetch(source, ids, allocate)
        for path in folder.glob("*.tar"):
            with path.open("r+b") as file:
                file.truncate(2048)
        return columns

    monkeypatch.setattr(ShardSource, "fetch", fetch_and_cut)
    with pytest.raises(ShardChangedError) as raised:
        run(folder, **ENGINES[engine])
    assert raised.value.where["shard"].endswith(".tar")
    assert "cut, while it was open" in str(raised.value)


def test_an_iteration_that_is_left_gives_its_shards_back(folder):
    dataset = hr.ShardDataset(folder, fields=("jpg", "cls"), transform=CROP)
    with closing(hr.DataLoader(dataset, batch_size=4, engine="threads", num_workers=2)) as loader:
        next(iter(loader))
    OPEN_FILES.settle()
    assert OPEN_FILES.num_in_use == 0
