"""Whole samples and views through the loader, on every engine."""

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

import headrace as hr

NUM = 24
LISTS = {"boxes": "list", "labels": "list"}


@pytest.fixture(scope="module")
def shards(photographs, tmp_path_factory):
    folder = tmp_path_factory.mktemp("whole")
    with hr.ShardWriter(folder / "s-%02d.tar", samples_per_shard=10) as writer:
        for number, path in enumerate(sorted(photographs.rglob("*.jpg"))[:NUM]):
            with Image.open(path) as image:
                grey = np.asarray(image.convert("L"))
            height, width = grey.shape
            boxes = [[1, 2, width / 2, height / 2], [width / 4, 5, width - 1, height - 2]][: number % 3]
            held = {"boxes": boxes, "labels": [4, 5][: number % 3]}
            writer.write({"__key__": f"{number:03d}", "jpg": path.read_bytes(), "seg.png": grey // 16, "json": held})
    return folder


def dataset(shards, transform):
    fields = {
        "image": "jpg",
        "mask": "seg.png",
        "boxes": hr.field("json", get="boxes", kind="boxes"),
        "labels": hr.field("json", get="labels", kind="label"),
    }
    return hr.ShardDataset(shards, fields=fields, transform=transform)


def fused():
    return v2.Compose([v2.RandomResizedCrop(32), v2.RandomHorizontalFlip(), v2.SanitizeBoundingBoxes(), v2.ToImage()])


def mark(sample):
    return sample | {"image": v2.functional.adjust_brightness(sample["image"], hr.rng().uniform(0.5, 1.5))}


def with_python():
    return v2.Compose([v2.RandomResizedCrop(32), mark, v2.RandomHorizontalFlip(), v2.ToImage()])


def epoch_of(dataset_, **options):
    loader = hr.DataLoader(dataset_, batch_size=5, shuffle=True, seed=3, collate=LISTS, **options)
    batches = list(loader)
    loader.close()
    return batches


def assert_equal(one, other):
    if isinstance(one, torch.Tensor):
        assert torch.equal(one, other)
    elif isinstance(one, dict):
        assert one.keys() == other.keys()
        for name in one:
            assert_equal(one[name], other[name])
    else:
        assert len(one) == len(other)
        for left, right in zip(one, other, strict=True):
            assert_equal(left, right)


@pytest.mark.parametrize(
    "transform",
    [fused, with_python, lambda: hr.Views((fused(), 2), (v2.Compose([v2.RandomResizedCrop(16), v2.ToImage()]), 1))],
    ids=["fused", "python", "views"],
)
def test_every_engine_gives_the_same(shards, transform):
    expected = epoch_of(dataset(shards, transform()), num_workers=0)
    assert len(expected) == 5
    for options in ({"num_workers": 2, "engine": "threads"}, {"num_workers": 2, "engine": "processes"}):
        assert_equal(epoch_of(dataset(shards, transform()), **options), expected)
    assert_equal(epoch_of(dataset(shards, transform()), num_workers=0, fuse=False), expected)


def test_an_item_of_the_dataset_is_a_sample(shards):
    sample = dataset(shards, hr.Views((fused(), 2)))[2]
    assert [tuple(view.shape) for view in sample["image"]] == [(3, 32, 32)] * 2
    assert [tuple(view.shape) for view in sample["mask"]] == [(32, 32)] * 2
    assert all(len(boxes) == len(labels) for boxes, labels in zip(sample["boxes"], sample["labels"], strict=True))


def test_explain_says_what_is_fused_and_how_many_views_there_are(shards):
    loader = hr.DataLoader(dataset(shards, hr.Views((fused(), 2), with_python())), batch_size=5, num_workers=0)
    text = loader.explain()
    assert "3 views" in text
    assert "sample x 2" in text
    assert "SanitizeBoundingBoxes" in text
    assert "Python: mark" in text


def test_an_image_folder_has_views_by_its_transform(photographs):
    from torchvision.datasets import ImageFolder

    folder = ImageFolder(str(photographs), transform=hr.Views((v2.RandomResizedCrop(16), 2)))
    views, labels = next(iter(hr.DataLoader(folder, batch_size=5, num_workers=0)))
    assert [tuple(view.shape) for view in views] == [(5, 3, 16, 16)] * 2
    assert labels.shape == (5,)
