"""Samples that lack their image, with `missing="none"`: torchvision must not take something else for it."""

import io

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms import v2

import headrace as hr
from tests.encoded_images import encode

TRANSFORMS = {
    "fused": [v2.RandomCrop(8), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)],
    "resize": [v2.Resize((8, 8))],
    "python in the middle": [v2.Resize((12, 12)), v2.Pad(1), v2.RandomCrop(8), v2.ToImage()],
    "python alone": [v2.Pad(2), v2.RandomCrop(8)],
    "pixels": [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5] * 3, [0.5] * 3)],
}


def array_bytes(array):
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.fixture
def shard(tmp_path):
    """Rows 0 and 2 have an image, rows 0 and 1 a mask; all have an array, and boxes."""
    mask = encode(Image.fromarray(np.arange(600, dtype=np.uint8).reshape(20, 30)), "PNG")
    with hr.ShardWriter(tmp_path / "s-%06d.tar") as writer:
        for row in range(4):
            sample = {"__key__": str(row), "npy": array_bytes(np.arange(12.0).reshape(3, 4) + row)}
            sample["json"] = [[1, 2, 9, 8]]
            sample |= {"jpg": encode(Image.new("RGB", (30, 20), (row, 9, 9)), "JPEG")} if row % 2 == 0 else {}
            sample |= {"seg.png": mask} if row < 2 else {}
            writer.write(sample)
    return str(tmp_path / "s-000000.tar")


def batch_of(shard, fields, transform, **options):
    dataset = hr.ShardDataset(shard, fields=fields, transform=transform, missing="none")
    (batch,) = hr.DataLoader(dataset, 4, collate_fn=list, **options)
    return batch


@pytest.mark.parametrize("steps", TRANSFORMS)
@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("others", [("npy",), ("npy", "seg.png"), ("seg.png", "npy")])
@pytest.mark.parametrize("num_workers", [0, 2])
def test_labels_are_not_taken_for_the_image(shard, steps, fuse, others, num_workers):
    fields = {"image": "jpg"} | {name: name for name in others}
    transform = v2.Compose(TRANSFORMS[steps])
    options = {"fuse": fuse, "num_workers": num_workers}
    batch = batch_of(shard, fields, transform, **options)
    masked = batch_of(shard, {"image": "jpg", "seg.png": "seg.png"}, transform, **options)
    for row, sample in enumerate(batch):
        assert torch.equal(torch.as_tensor(sample["npy"]), torch.arange(12.0).reshape(3, 4).double() + row)
        assert (sample["image"] is None) == (row % 2 == 1)
        if row % 2 == 0:
            assert torch.equal(sample["image"], masked[row]["image"])
        if "seg.png" in others:
            assert (sample["seg.png"] is None) == (row > 1)
            assert row > 1 or torch.equal(sample["seg.png"], masked[row]["seg.png"])


@pytest.mark.parametrize("fuse", [True, False])
def test_boxes_stay_where_nothing_says_how_large_the_image_was(shard, fuse):
    fields = ("jpg", hr.field("json", kind="boxes"), "npy")
    transform = v2.Compose(
        [v2.Resize((40, 60)), v2.RandomHorizontalFlip(1.0), v2.SanitizeBoundingBoxes(labels_getter=None)]
    )
    batch = batch_of(shard, fields, transform, fuse=fuse, num_workers=0)
    for row in (1, 3):
        assert batch[row][0] is None
        assert batch[row][1].tolist() == [[1, 2, 9, 8]]
    for row in (0, 2):
        assert batch[row][1].tolist() == [[42, 4, 58, 16]]


@pytest.mark.parametrize("where", ["before", "between"])
def test_an_image_that_a_function_puts_there_is_transformed(shard, where):
    seen = []

    def fill(sample):
        image, array = sample
        return Image.new("RGB", (30, 20)) if image is None else image, array

    def look(sample):
        seen.append((sample[0].size, tuple(sample[1].shape)))
        return sample

    steps = [v2.RandomHorizontalFlip(), fill] if where == "between" else [fill]
    batch_of(shard, ("jpg", "npy"), v2.Compose([*steps, v2.RandomCrop(8), look]), num_workers=0)
    assert seen == [((8, 8), (3, 4))] * 4


def test_functions_get_the_sample_as_it_is(shard):
    seen = []

    def look(sample):
        seen.append(tuple(type(part) for part in sample))
        return sample

    batch_of(shard, ("jpg", "npy"), v2.Compose([v2.RandomCrop(8), look]), num_workers=0)
    assert seen == [(Image.Image, torch.Tensor), (type(None), torch.Tensor)] * 2
