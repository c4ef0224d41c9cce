"""Large images: a batch goes through the Python part in portions, and nobody can tell."""

import numpy as np
import pytest
import torch
from torchvision.transforms import v2

import headrace as hr
from tests.encoded_images import KINDS, photograph


def stay(sample):
    return sample


def count_label(sample):
    image, label = sample
    return image, label + 1


TRANSFORMS = {
    "whole sample": v2.Compose([count_label, v2.RandomResizedCrop(24), v2.RandomHorizontalFlip(), v2.ToImage()]),
    "by field": {"jpg": v2.Compose([v2.RandomInvert(1.0), v2.RandomResizedCrop(24), v2.ToImage()])},
    "any callable": stay,
    "nothing fused": v2.Compose([count_label, v2.CenterCrop(24), v2.RandomInvert(1.0)]),
}


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    pattern = tmp_path_factory.mktemp("shards") / "large-%06d.tar"
    with hr.ShardWriter(str(pattern)) as writer:
        for number in range(12):
            image = photograph(60, 70) if number % 2 else photograph(60, 70).transpose(0)
            data = b"damaged" if number == 5 else KINDS["jpeg 4:2:0"](image)
            writer.write({"__key__": f"{number:03}", "jpg": data, "cls": number})
    return sorted(map(str, pattern.parent.glob("*.tar")))


def batches(shard, transform, num_workers):
    dataset = hr.ShardDataset(shard, fields=("jpg", "cls"), transform=transform)
    loader = hr.DataLoader(dataset, batch_size=6, shuffle=True, seed=3, on_error="skip", num_workers=num_workers)
    return [(images.clone(), labels.clone()) for images, labels in loader]


@pytest.mark.parametrize("num_workers", [0, 2])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_batches_are_the_same_in_one_portion_and_in_many(shard, monkeypatch, name, num_workers):
    whole = batches(shard, TRANSFORMS[name], num_workers)
    monkeypatch.setattr("headrace.recipes.prefix_runner.PORTION_PIXELS", 60 * 70 * 2)
    portions = batches(shard, TRANSFORMS[name], num_workers)
    assert len(whole) == len(portions) == 2
    for (images, labels), (others, other_labels) in zip(whole, portions, strict=True):
        assert torch.equal(images, others)
        assert np.array_equal(labels, other_labels)
